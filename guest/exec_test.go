//go:build linux

package guest

import (
	"sync"
	"testing"
)

// A1: the output of a trivial command is never lost.
func TestA1EchoIsNeverEmpty(t *testing.T) {
	m, c := newGuest(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 / 8 {
				m.run(c, command{argv: []string{"echo", "running"}}).expect(t, 0, "running\n", "")
			}
		})
	}
	all.Wait()
}
