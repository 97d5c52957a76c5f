package backendtest

import (
	"strings"
	"sync"
)

// signals that fake processes know, with their numbers.
var signals = map[string]int{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGABRT": 6, "SIGKILL": 9, "SIGUSR1": 10, "SIGUSR2": 12,
	"SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15, "SIGCHLD": 17, "SIGCONT": 18, "SIGURG": 23, "SIGWINCH": 28,
}

// ignored are the signals that do nothing unless they are trapped.
var ignored = map[string]bool{"SIGCHLD": true, "SIGCONT": true, "SIGURG": true, "SIGWINCH": true}

// traps are what a run's shell does about signals.
type traps struct {
	mu        sync.Mutex
	actions   map[string]string // by signal; "" ignores it
	pending   []string          // actions to run
	interrupt chan struct{}     // closed, and replaced, when one is added
}

func newTraps() *traps {
	return &traps{actions: map[string]string{}, interrupt: make(chan struct{})}
}

// set is the trap builtin: ACTION SIGNAL…, or "-" for the default.
func (t *traps) set(args []string) {
	if len(args) < 2 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range args[1:] {
		name = "SIG" + strings.TrimPrefix(name, "SIG")
		if args[0] == "-" {
			delete(t.actions, name)
		} else {
			t.actions[name] = args[0]
		}
	}
}

// take gives the actions that are due.
func (t *traps) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := t.pending
	t.pending = nil
	return due
}

func (t *traps) interrupted() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.interrupt
}

// deliver tells whether the signal is dealt with; else it ends the process.
func (t *traps) deliver(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	action, trapped := t.actions[name]
	switch {
	case name == "SIGKILL":
		return false
	case trapped && action != "":
		t.pending = append(t.pending, action)
		close(t.interrupt)
		t.interrupt = make(chan struct{})
		return true
	}
	return trapped || ignored[name]
}

// runTraps runs what signals have asked for.
func (p *proc) runTraps() {
	if p.shell.inner {
		return
	}
	for _, action := range p.run.traps.take() {
		if j, err := parse(action); err == nil {
			j(p)
		}
	}
}
