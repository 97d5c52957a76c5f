package backendtest_test

import (
	"context"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
)

func TestFake(t *testing.T) {
	f := backendtest.NewFake(t)
	outside := func(act func(string)) func(context.Context, string) error {
		return func(_ context.Context, name string) error {
			act(name)
			return nil
		}
	}
	// The subtests run in parallel and call New more than once, so closing one
	// client must not end the others' guests, as Fake.Close would.
	backendtest.Run(t, backendtest.Options{
		New:             func(t *testing.T) manager.Backend { return f.Client() },
		Image:           backendtest.BusyboxImage,
		StopContainer:   outside(f.StopContainer),
		RemoveContainer: outside(f.RemoveContainer),
		RemoveVolume:    outside(f.RemoveVolume),
	})
}
