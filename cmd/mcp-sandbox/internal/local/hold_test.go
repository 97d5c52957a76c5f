package local

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A server that nobody holds is gone for good; one that is held stays.
func TestQuit(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	first, err := Claim(within(t, soon), dir)
	if err != nil || first.About.Command != "serve" {
		t.Fatalf("%+v, %v", first, err)
	}
	if err := s.Quit(within(t, 50*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("it ended with %v while it was held", err)
	}
	second, err := Claim(within(t, soon), dir)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	quit := make(chan error, 1)
	go func() { quit <- s.Quit(within(t, soon)) }()
	second.Close()
	if err := <-quit; err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(within(t, soon), dir); !errors.Is(err, ErrLeaving) {
		t.Errorf("claimed: %v", err)
	}
	s.Close()
	if _, err := Claim(within(t, soon), dir); !errors.Is(err, ErrNone) && !errors.Is(err, ErrLeaving) {
		t.Errorf("claimed: %v", err)
	}
}

// Whoever holds it when the server decides to go is there before, or is told.
func TestClaimsWhileItQuits(t *testing.T) {
	dir := t.TempDir()
	for range 20 {
		s := start(t, dir)
		var quit atomic.Bool
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				h, err := Claim(within(t, soon), dir)
				switch {
				case err == nil:
					if quit.Load() {
						t.Error("it has quit while it was held")
					}
					get(t, dir, "/v1/x")
					h.Close()
				case !errors.Is(err, ErrLeaving) && !errors.Is(err, ErrNone):
					t.Error(err)
				}
			})
		}
		if err := s.Quit(within(t, soon)); err != nil {
			t.Fatal(err)
		}
		quit.Store(true)
		s.Close()
		all.Wait()
	}
}

// An orderly end does not wait for those who hold the server.
func TestLeaveIsNotHeldUp(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	h, err := Claim(within(t, soon), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := s.Leave(within(t, soon)); err != nil {
		t.Error(err)
	}
}
