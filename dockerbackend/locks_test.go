package dockerbackend

import (
	"context"
	"testing"
	"time"
)

func TestLocks(t *testing.T) {
	l := newLocks()
	held, release, err := l.hold(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := l.hold(short, "a"); err == nil {
		t.Error("two hold a")
	}
	if _, other, err := l.hold(t.Context(), "b"); err != nil {
		t.Error(err)
	} else {
		other()
	}
	overtaken := make(chan func())
	go func() {
		release, _ := l.overtake(t.Context(), "a")
		overtaken <- release
	}()
	<-held.Done() // a removal does not wait for who holds it to finish by itself
	release()
	remover := <-overtaken
	second := make(chan func())
	go func() {
		release, _ := l.overtake(t.Context(), "a")
		second <- release
	}()
	remover()
	(<-second)()
	if len(l.held) > 0 {
		t.Errorf("left over: %v", l.held)
	}
}
