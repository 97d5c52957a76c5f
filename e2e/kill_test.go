package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestKill: timeout, cancel, and what a killed command leaves behind.
func TestKill(t *testing.T) {
	t.Parallel()
	s := start(t)
	runCases(t, s.create(), append([]testCase[*sandbox]{
		{"B9 limits are named", limitsNamed},
	}, killCases...))
	runCases(t, s, killServerCases)
}

// killServerCases hold at every door.
var killServerCases = []testCase[*server]{
	{"B14 destroy under a command", destroyUnderCommand},
}

// killCases hold at every door.
var killCases = []testCase[*sandbox]{
	{"B1 timeout stops the program", timeoutStops},
	{"B3 signals trapped", signalsTrapped},
	{"B4 timeout is punctual", timeoutPunctual},
	{"B5 grandchildren hold the pipes", grandchildren},
	{"B5 children that left the group", childrenThatLeft},
	{"B6 output before the timeout", outputBeforeTimeout},
	{"B8 odd limits", oddLimits},
	{"B10 long timeouts are honoured", longTimeout},
	{"B11 timed-out runs leave nothing", timedOutRunsLeaveNothing},
	{"B13 cancel kills", cancelKills},
}

// tick appends to a file for as long as it lives.
const tick = "while :; do date >> tick; sleep 0.1; done"

// stopped checks that no tick loop writes any more and nothing runs.
func stopped(b *sandbox) {
	b.t.Helper()
	last := ""
	eventually(b.t, 3*time.Second, "the tick file no longer grows", func() (bool, any) {
		// The file may not be there: a call can be given up before its command has written.
		now := b.must(": >> tick; wc -c < tick; sleep 0.5; wc -c < tick")
		last = now
		sizes := strings.Fields(now)
		return len(sizes) == 2 && sizes[0] == sizes[1], now
	})
	if n := processes(b); n != 0 {
		b.t.Errorf("%d processes are left (tick %q):\n%s", n, last, b.must("ps"))
	}
}

// processes counts what runs in a sandbox besides its init and the counting.
func processes(b *sandbox) int {
	b.t.Helper()
	var n int
	// The shell that looks is the only process with a number above 1 that is
	// there to be seen; globbing forks nothing.
	fmt.Sscan(b.must(`n=0; for p in /proc/[0-9]*; do [ "$p" = /proc/1 ] || [ "$p" = /proc/$$ ] || n=$((n+1)); done; echo $n`), &n)
	return n
}

func timeoutStops(b *sandbox) {
	r := b.sh(tick, args{"timeout_seconds": 1})
	if !r.TimedOut || r.ExitCode != 137 {
		b.t.Errorf("got %+v", r)
	}
	stopped(b)
}

func signalsTrapped(b *sandbox) {
	took(b.t, 4*time.Second, "a command that traps signals, timeout 2", func() {
		if r := b.sh(`trap "" TERM INT HUP; sleep 60; sleep 60`, args{"timeout_seconds": 2}); !r.TimedOut {
			b.t.Errorf("got %+v", r)
		}
	})
	if n := processes(b); n != 0 {
		b.t.Errorf("%d processes are left", n)
	}
}

func timeoutPunctual(b *sandbox) {
	a := args{"sandbox_id": b.ID, "command": "sleep 30", "timeout_seconds": 2}
	for _, run := range []func() error{
		func() error { return b.Call(ctx(b.t), "exec", a, nil) },
		func() error { _, err := b.Live(ctx(b.t), a, func(string) {}); return err },
	} {
		began := time.Now()
		check(b.t, run())
		if took := time.Since(began); took < 2*time.Second || took > 4*time.Second {
			b.t.Errorf("a timeout of 2 s took %v", took)
		}
	}
}

func grandchildren(b *sandbox) {
	for _, command := range []string{
		"(sleep 100) & (sleep 100) & wait",
		`sh -c "sleep 100 | cat"`,
	} {
		took(b.t, 3*time.Second, command, func() {
			if r := b.sh(command, args{"timeout_seconds": 1}); !r.TimedOut {
				b.t.Errorf("%s: got %+v", command, r)
			}
		})
		if n := processes(b); n != 0 {
			b.t.Errorf("%s: %d processes are left:\n%s", command, n, b.must("ps"))
		}
	}
}

// childrenThatLeft: a timeout finds them by another way than the process group,
// and touches nothing that another command has left running.
func childrenThatLeft(b *sandbox) {
	b.must("sleep 777 >/dev/null 2>&1 &")
	for _, command := range []string{
		"setsid sh -c '" + tick + "' & sleep 100",
		"(setsid sh -c '(" + tick + ") &' &); sleep 100",
		"env -i /bin/setsid /bin/sh -c '" + tick + "' & sleep 100",
	} {
		b.sh(command, args{"timeout_seconds": 1})
		eventually(b.t, 3*time.Second, "only the other command's child is left after "+command, func() (bool, any) {
			n := processes(b)
			return n == 1, n
		})
	}
	if out := b.must("pidof sleep | wc -w"); strings.TrimSpace(out) != "1" {
		b.t.Errorf("another command's child was killed: %q", out)
	}
	b.must("killall sleep")
}

func outputBeforeTimeout(b *sandbox) {
	r := b.sh("echo before; echo warn >&2; sleep 60", args{"timeout_seconds": 1})
	if r.Stdout != "before\n" || r.Stderr != "warn\n" || !r.TimedOut {
		b.t.Errorf("got %+v", r)
	}
}

func oddLimits(b *sandbox) {
	for _, bad := range []any{-1, 0, -0.5, "five", "NaN", json.Number("9223372036854775808"), 1200000000000, []int{5}, true} {
		b.refuse("exec", args{"sandbox_id": b.ID, "command": "true", "timeout_seconds": bad}, schemas.CodeInvalidRequest)
	}
	for field, bad := range map[string]any{"memory_mb": 1 << 54, "cpus": 1e9, "pids_limit": 1 << 60, "timeout_seconds": 1 << 60} {
		err := b.refuse("sandbox_create", args{field: bad}, schemas.CodeInvalidRequest)
		if err != nil && !strings.Contains(err.Error(), field) {
			b.t.Errorf("%s=%v: the message does not name it: %v", field, bad, err)
		}
	}
	took(b.t, 2*time.Second, "a timeout of half a second", func() {
		if r := b.sh("sleep 5", args{"timeout_seconds": 0.5}); !r.TimedOut {
			b.t.Errorf("got %+v", r)
		}
	})
	if r := b.sh("sleep 0.3; echo ok", args{"timeout_seconds": nil}); r.Stdout != "ok\n" {
		b.t.Errorf("timeout_seconds null: got %+v", r)
	}
}

func limitsNamed(b *sandbox) {
	err := b.refuse("exec", args{"sandbox_id": b.ID, "command": "true", "timeout_seconds": 86401}, schemas.CodeInvalidRequest)
	if err != nil && !strings.Contains(err.Error(), "86400") {
		b.t.Errorf("the message does not name the limit: %v", err)
	}
	raw, err := b.Raw(ctx(b.t), "exec", args{"sandbox_id": b.ID, "command": "sleep 2; echo ok", "timeout_seconds": 1}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if text := client.Text(raw); !strings.Contains(text, "timeout_seconds (1; at most 86400) passed") {
		b.t.Errorf("the text does not say what ended it: %q", text)
	}
}

func longTimeout(b *sandbox) {
	wait := count(12, 40)
	r := b.sh(fmt.Sprintf("sleep %d; echo ok", wait), args{"timeout_seconds": wait + 20})
	if r.Stdout != "ok\n" || r.TimedOut {
		b.t.Errorf("got %+v", r)
	}
}

func timedOutRunsLeaveNothing(b *sandbox) {
	repeat(b.t, count(6, 30), 3, func(int) error {
		r, err := b.trySh("while :; do :; done", args{"timeout_seconds": 1})
		if err != nil || !r.TimedOut {
			return fmt.Errorf("got %+v, %v", r, err)
		}
		return nil
	})
	if n := processes(b); n != 0 {
		b.t.Errorf("%d processes are left", n)
	}
	took(b.t, time.Second, "echo after that", func() { b.alive() })
}

func cancelKills(b *sandbox) {
	b.must("rm -f tick")
	c, cancel := context.WithCancel(ctx(b.t))
	wait := inBackground(func() { b.shContext(c, tick, args{"timeout_seconds": 100}) })
	eventually(b.t, 10*time.Second, "the command runs", func() (bool, any) {
		r, err := b.trySh("test -s tick")
		return r.ExitCode == 0, err
	})
	cancel()
	wait()
	stopped(b)
}

func destroyUnderCommand(s *server) {
	idle, busy := s.create(), s.create()
	var err error
	wait := inBackground(func() { _, err = busy.trySh(`trap "" TERM; touch started; sleep 999`, args{"timeout_seconds": 999}) })
	eventually(s.t, 10*time.Second, "the command runs", func() (bool, any) {
		r, err := busy.trySh("ls started")
		return r.ExitCode == 0, err
	})
	for _, b := range []*sandbox{idle, busy} {
		took(s.t, 6*time.Second, "destroy", func() {
			if err := s.destroy(b.ID); err != nil {
				s.t.Error(err)
			}
		})
	}
	wait()
	if client.Code(err) != string(schemas.CodeSandboxGone) || !strings.Contains(err.Error(), "destroyed") {
		s.t.Errorf("the command ended with %v, want sandbox_gone, destroyed", err)
	}
}
