//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func TestSignalNames(t *testing.T) {
	for name, want := range map[string]unix.Signal{
		"SIGINT": 2, "SIGKILL": 9, "SIGWINCH": unix.SIGWINCH, "SIGPOLL": unix.SIGIO, "SIGCHLD": 17, "SIGPWR": 30,
		"SIGRTMIN": 34, "SIGRTMIN+0": 34, "SIGRTMIN+30": 64,
		"": 0, "INT": 0, "sigint": 0, "SIG9": 0, "9": 0, "0": 0, "SIGRTMIN+31": 0, "SIGRTMIN-1": 0, "SIGRTMIN1": 0, "SIGRTMIN++1": 0, "SIGRTMIN+-1": 0,
	} {
		if got, ok := signalNumber(name); ok != (want != 0) || ok && got != want {
			t.Errorf("%s: %d, %v", name, got, ok)
		}
	}
}

// A signal goes to the process group and to nothing else; what has a handler runs
// it.
func TestSignalJob(t *testing.T) {
	m, c := newGuest(t)
	id := m.background(c, command{argv: []string{"bash", "-c", `trap 'echo caught' USR1 RTMIN+3; echo ready; setsid sleep 100 & while :; do sleep 0.01; done`}})
	m.waitFor(c, id, "ready")
	eventually(t, 10*time.Second, "a child in a session of its own", func() (any, bool) {
		left := m.children()
		return left, slices.Contains(left, "sleep 100 ") || !m.isolated
	})
	send := func(name string) error {
		return c.Signal(t.Context(), protocol.SignalParams{ID: id, Signal: name})
	}
	for n, name := range []string{"SIGUSR1", "SIGRTMIN+3"} {
		check(t, send(name))
		m.waitFor(c, id, strings.Repeat("caught\n", n+1))
	}
	check(t, send("SIGTERM"))
	if o := m.follow(c, id); o.Signal != "SIGTERM" || o.ExitCode != 143 {
		t.Errorf("got %+v", o.ExecResult)
	}
	if err := send("SIGTERM"); !hasCode(err, protocol.ErrConflict) {
		t.Errorf("after the end: %v", err)
	}
	if left := m.children(); m.isolated && len(left) != 1 { // in a session, and group, of its own
		t.Errorf("left: %v", left)
	}
	m.killJob(c, id)
	m.nothingLeft()
}

// What an ended job left is killed, also where only the environment tells.
func TestKillLeftovers(t *testing.T) {
	for _, noMark := range []string{"", "1"} {
		t.Setenv(noMarkVariable, noMark)
		m, c := newGuest(t)
		other := m.background(c, command{sh: "sleep 200 & sleep 100"})
		id := m.background(c, command{sh: "setsid sh -c '" + tick + "' & (sleep 300 &) ; echo ok"})
		if o := m.follow(c, id); o.stdout != "ok\n" || o.ExitCode != 0 {
			t.Errorf("got %+v", o)
		}
		for range 3 {
			m.killJob(c, id)
		}
		if m.ticking("tick") {
			t.Error("something is still ticking")
		}
		if left := m.children(); m.isolated && len(left) != 3 { // a shell and its two
			t.Errorf("left: %v", left)
		}
		m.killJob(c, other)
		m.nothingLeft()
	}
}

// Jobs outlive the session, and floods; what is attached does not. The guest keeps
// nothing of what is forgotten.
func TestJobsAndSessions(t *testing.T) {
	m := startMachine(t)
	var ids []string
	for round := range 10 {
		w := m.attach()
		c := m.dialOn(w)
		all, err := c.Execs(t.Context())
		check(t, err)
		if len(all) != len(ids) {
			t.Errorf("round %d: %d execs", round, len(all))
		}
		for i, s := range all {
			if s.ID != ids[i] || !s.Result.Running {
				t.Errorf("round %d: %+v", round, s)
			}
		}
		ids = append(ids, m.background(c, command{argv: []string{"yes"}}))
		m.flood(c)
		for range 3 {
			params := protocol.StartParams{ExecParams: m.params(command{sh: "yes"}), ID: newExecID(), Wait: time.Hour}
			go c.Start(context.Background(), params, nil, func(protocol.Stream, []byte) error { return nil })
			go c.Poll(context.Background(), protocol.PollParams{ID: ids[0], Follow: true}, func(protocol.Stream, []byte) error { return nil })
		}
		time.Sleep(50 * time.Millisecond)
		w.Close()
	}
	c := m.dial()
	for _, id := range ids {
		m.killJob(c, id)
	}
	m.nothingLeft()
}

// While nothing happens the guest does nothing, however much runs in the
// background.
func TestJobsAtRest(t *testing.T) {
	m, c := newGuest(t)
	for range protocol.MaxBackground {
		m.background(c, command{argv: []string{"sleep", "100"}, timeout: time.Hour}, withInput)
	}
	wakes := func() (n int) {
		for _, task := range m.tasks() {
			text, _ := os.ReadFile(task + "/status")
			_, rest, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
			count, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
			n += count
		}
		return n
	}
	eventually(t, 20*time.Second, "wake-ups in a second", func() (any, bool) { // the runtime has its moments
		before := wakes()
		time.Sleep(time.Second)
		n := wakes() - before
		return n, n < 10
	})
}

func (m *machine) tasks() (paths []string) {
	dir := fmt.Sprintf("/proc/%d/task/", m.cmd.Process.Pid)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		paths = append(paths, dir+e.Name())
	}
	return paths
}

// More polls of one job than may wait are refused, and take nothing from others.
func TestPollersAreBounded(t *testing.T) {
	m, c := newGuest(t)
	id := m.background(c, command{argv: []string{"sleep", "100"}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := make(chan error, maxPollers+5)
	for range maxPollers + 5 {
		go func() {
			_, err := c.Poll(ctx, protocol.PollParams{ID: id, Wait: time.Hour}, nil)
			results <- err
		}()
	}
	for range 5 {
		if err := <-results; !hasCode(err, protocol.ErrBusy) {
			t.Errorf("got %v", err)
		}
	}
	other := m.background(c, command{sh: "echo ok"})
	if o := m.follow(c, other); o.stdout != "ok\n" {
		t.Errorf("got %q", o.stdout)
	}
	cancel()
	for range maxPollers {
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	m.poll(c, protocol.PollParams{ID: id}) // there is room again
}

// A job that is forgotten while it is read ends that, and gives back its memory.
func TestForgottenWhileRead(t *testing.T) {
	m, c := newGuest(t)
	first := m.background(c, command{sh: "head -c 2000000 /dev/zero; head -c 2000000 /dev/zero >&2"})
	m.follow(c, first)
	reading, forgotten := make(chan bool), make(chan bool)
	done := make(chan error)
	go func() {
		once := false
		_, err := c.Poll(t.Context(), protocol.PollParams{ID: first, MaxBytes: -1}, func(protocol.Stream, []byte) error {
			if !once {
				once = true
				reading <- true
				<-forgotten
			}
			return nil
		})
		done <- err
	}()
	<-reading
	for range protocol.MaxBackground {
		m.follow(c, m.background(c, command{argv: []string{"true"}}))
	}
	close(forgotten)
	if err := <-done; err != nil && !hasCode(err, protocol.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Poll(t.Context(), protocol.PollParams{ID: first}, nil); !hasCode(err, protocol.ErrNotFound) {
		t.Errorf("afterwards: %v", err)
	}
	for id, code := range map[string]protocol.Code{"../etc": protocol.ErrInvalid, newExecID(): protocol.ErrNotFound} {
		if err := c.Kill(t.Context(), protocol.KillParams{ID: id}); !hasCode(err, code) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// What was sent before the hand-over is not kept, and what is kept is what it was.
func TestKeptAcrossTheHandOver(t *testing.T) {
	m, c := newGuest(t)
	const size = 300_000
	var sent int64
	params := protocol.StartParams{
		ExecParams: m.params(command{sh: fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; read x; head -c %d /dev/zero | tr '\\0' y", size, size)}),
		ID:         newExecID(), Wait: 300 * time.Millisecond, Input: true,
	}
	result, err := c.Start(t.Context(), params, nil, func(_ protocol.Stream, p []byte) error {
		sent += int64(len(p))
		return nil
	})
	if err != nil || !result.Running || sent != result.StdoutBytes {
		t.Fatalf("got %+v after %d bytes, %v", result, sent, err)
	}
	m.input(c, params.ID, "\n", true)
	m.poll(c, protocol.PollParams{ID: params.ID, Stdout: sent, Follow: true})
	state, all := m.poll(c, protocol.PollParams{ID: params.ID, MaxBytes: -1})
	xs := strings.Count(all.stdout, "x")
	if state.Stdout+int64(len(all.stdout)) != 2*size || all.stdout != strings.Repeat("x", xs)+strings.Repeat("y", size) || xs == 0 || xs > firstRing && sent == size {
		t.Errorf("from %d: %d bytes, %d of them from before", state.Stdout, len(all.stdout), xs)
	}
}

// A standard input that is more than can be kept makes the hand-over wait; an end
// of it that never comes, until the command has ended.
func TestLargeInputAtTheHandOver(t *testing.T) {
	m, c := newGuest(t)
	const size = 5 << 20
	began := time.Now()
	id := m.background(c, command{sh: "sleep 0.5; wc -c; sleep 0.5", stdin: strings.NewReader(strings.Repeat("x", size))})
	if took := time.Since(began); took < 400*time.Millisecond {
		t.Errorf("handed over after %v", took)
	}
	if o := m.follow(c, id); strings.TrimSpace(o.stdout) != strconv.Itoa(size) {
		t.Errorf("got %q", o.stdout)
	}
	m.background(c, command{sh: "sleep 0.1; exec <&-; sleep 0.1", stdin: endless{}}) // it wants no more, so nothing is waited for
}

func TestFirstBytes(t *testing.T) {
	for _, test := range []struct {
		argv, want []string
	}{
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"12345678", "x"}, []string{"12345678", "x"}},
		{[]string{"123456789", "x"}, []string{"123456789"}},
		{[]string{"123456789012"}, []string{"1234567890"}},
		{[]string{"12345", "67890"}, []string{"12345", "6789"}},
		{[]string{"1234567é"}, []string{"1234567é"}},
		{[]string{"123456789é"}, []string{"123456789"}},
		{[]string{"\xff"}, []string{"\uFFFD"}},
		{nil, nil},
	} {
		if got := firstBytes(test.argv, 10); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
			t.Errorf("%q: got %q, want %q", test.argv, got, test.want)
		}
	}
}
