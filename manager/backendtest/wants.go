package backendtest

import (
	"errors"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// wantKind fails the subtest unless err is of one of the kinds.
func (e *env) wantKind(what string, err error, kinds ...manager.Kind) {
	e.Helper()
	var typed *manager.Error
	if !errors.As(err, &typed) {
		e.Errorf("%s: got %v, want an *Error of kind %s", what, err, codes(kinds))
		return
	}
	for _, k := range kinds {
		if typed.Kind == k {
			return
		}
	}
	e.Errorf("%s: got kind %d (%v), want %v", what, typed.Kind, err, kinds)
}

func codes(kinds []manager.Kind) (names []schemas.Code) {
	for _, k := range kinds {
		names = append(names, k.Code())
	}
	return names
}

// eventually polls until probe is content, and else shows its last state.
func (e *env) eventually(what string, probe func() (state any, ok bool)) {
	e.Helper()
	deadline := time.Now().Add(prompt)
	for {
		state, ok := probe()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			e.Fatalf("%s: not after %s; last state: %v", what, prompt, state)
		}
		time.Sleep(10 * time.Millisecond) // between two looks, not to wait for one
	}
}

// promptly fails the subtest unless f returns in time.
func (e *env) promptly(what string, f func()) {
	e.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	e.closes(what, done)
}

func (e *env) closes(what string, done <-chan struct{}) {
	e.Helper()
	select {
	case <-done:
	case <-time.After(prompt):
		e.Fatalf("%s: not after %s", what, prompt)
	}
}
