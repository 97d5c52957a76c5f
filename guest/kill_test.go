//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// timedOut runs a script with a timeout, and fails the test unless it is killed
// within a second of it.
func (m *machine) timedOut(run func(command) outcome, script string, timeout time.Duration) outcome {
	m.t.Helper()
	began := time.Now()
	o := run(command{sh: script, timeout: timeout})
	took := time.Since(began)
	if !o.TimedOut || o.ExitCode != 137 || o.OOMKilled || took < timeout || took > timeout+time.Second {
		m.t.Errorf("%s: after %v got %+v", short(script), took, o.ExecResult)
	}
	return o
}

// ticking reports whether a file still grows.
func (m *machine) ticking(name string) bool {
	size := func() int64 {
		st, err := os.Stat(m.file(name))
		if err != nil {
			return -1
		}
		return st.Size()
	}
	before := size()
	time.Sleep(400 * time.Millisecond)
	return size() != before
}

const tick = "while :; do echo x >> tick; sleep 0.05; done"

// B1, B3, B4, B5: a timeout ends everything the command started, however it
// tries to get away, and comes on time.
func TestB1B3B4B5TimeoutKillsTheTree(t *testing.T) {
	for name, script := range map[string]string{
		"loop":         tick,
		"trap":         `trap "" TERM INT HUP QUIT; ` + tick,
		"children":     "(" + tick + ") & (" + tick + ") & wait",
		"pipe":         "sh -c '" + tick + "' | cat",
		"session":      "setsid sh -c '" + tick + "' & sleep 60",
		"double fork":  "(setsid sh -c '" + tick + "' & ) ; sleep 60",
		"environment":  "env -i /usr/bin/setsid /bin/sh -c '" + tick + "' & sleep 60",
		"closed pipes": "setsid sh -c 'exec <&- >&- 2>&-; " + tick + "' & sleep 60",
		"stopped":      "setsid sh -c 'kill -STOP $$; " + tick + "' & sleep 60",
		"leader gone":  "setsid sh -c 'setsid sh -c \"" + tick + "\" & exit' & sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			m, c := newGuest(t)
			m.timedOut(func(cmd command) outcome { return m.run(c, cmd) }, script, 500*time.Millisecond)
			if m.ticking("tick") {
				t.Error("something is still ticking")
			}
			m.nothingLeft()
		})
	}
}

// Where processes cannot be marked, the environment and the parents do.
func TestKillWithoutMarks(t *testing.T) {
	t.Setenv(noMarkVariable, "1")
	for name, script := range map[string]string{
		"loop":        tick,
		"session":     "setsid sh -c '" + tick + "' & sleep 60",
		"double fork": "(setsid sh -c '" + tick + "' & ) ; sleep 60",
		"environment": "env -i /usr/bin/setsid /bin/sh -c '" + tick + "' & sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			m, c := newGuest(t)
			m.timedOut(func(cmd command) outcome { return m.run(c, cmd) }, script, 500*time.Millisecond)
			if m.ticking("tick") {
				t.Error("something is still ticking")
			}
			m.nothingLeft()
		})
	}
}

// nothingLeft checks that no process is left in the sandbox.
func (m *machine) nothingLeft() {
	m.t.Helper()
	if !m.isolated {
		return
	}
	eventually(m.t, time.Minute, "processes left", func() (any, bool) {
		left := m.children()
		return left, len(left) == 0
	})
}

// children lists the command lines of all processes in the guest's namespace
// but the guest, seen from outside; zombies show as such.
func (m *machine) children() (left []string) {
	namespace, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", m.cmd.Process.Pid))
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		ns, err := os.Readlink("/proc/" + e.Name() + "/ns/pid")
		if err != nil || ns != namespace || e.Name() == fmt.Sprint(m.cmd.Process.Pid) {
			continue
		}
		text, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if len(text) == 0 {
			text = []byte("(zombie)")
		}
		left = append(left, strings.ReplaceAll(string(text), "\x00", " "))
	}
	return left
}

// A timeout touches nothing that another command started.
func TestTimeoutTouchesNothingElse(t *testing.T) {
	m, c := newGuest(t)
	m.sh(c, "(setsid sh -c '"+tick+"' >/dev/null 2>&1 &)")
	m.timedOut(func(cmd command) outcome { return m.run(c, cmd) }, "setsid sleep 60 & sleep 60", 200*time.Millisecond)
	if !m.ticking("tick") {
		t.Error("the timeout of one command killed a process of another")
	}
}

// B6: what was printed before the timeout is delivered.
func TestB6OutputBeforeTheTimeout(t *testing.T) {
	m, c := newGuest(t)
	o := m.timedOut(func(cmd command) outcome { return m.run(c, cmd) }, "echo before; echo warn >&2; sleep 60", 300*time.Millisecond)
	o.expect(t, 137, "before\n", "warn\n")
}

// B11: runs that time out leave no processes behind.
func TestB11NoOrphans(t *testing.T) {
	m, c := newGuest(t)
	for range 5 {
		m.timedOut(func(cmd command) outcome { return m.run(c, cmd) }, "while :; do :; done", 100*time.Millisecond)
	}
	m.nothingLeft()
}

// B13: the caller going away kills the command, and so does an error of emit.
func TestB13CancelKills(t *testing.T) {
	m, c := newGuest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := m.try(ctx, c, command{sh: "setsid sh -c '" + tick + "' & " + tick}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	eventually(t, 30*time.Second, "ticking", func() (any, bool) { on := m.ticking("tick"); return on, !on })
	full := errors.New("disk full")
	_, err := c.Exec(t.Context(), m.params(command{sh: "echo x; " + tick}), nil, func(protocol.Stream, []byte) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	eventually(t, 30*time.Second, "ticking", func() (any, bool) { on := m.ticking("tick"); return on, !on })
	m.nothingLeft()
}

// A18, B4: with every CPU busy inside, calls are served and timeouts kept.
func TestA18BusyLoops(t *testing.T) {
	m, c := newGuest(t)
	done := make(chan outcome)
	go func() {
		done <- m.timedOut(func(cmd command) outcome { return m.run(c, cmd) },
			"for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; sleep 60", 2*time.Second)
	}()
	for range 5 {
		began := time.Now()
		m.sh(c, "echo ok").expect(t, 0, "ok\n", "")
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("echo took %v", took)
		}
	}
	<-done
	m.nothingLeft()
}

// L4: a fork bomb under a process limit ends at its timeout, the guest lives,
// and everything works at once. The bomb's processes leave their group, which
// is the worst that a bomb can do.
func TestL4ForkBomb(t *testing.T) {
	for name, bomb := range map[string]string{
		"plain":   "b() { b | b & }; b & exec sleep 60",
		"escapes": "echo 'setsid sh bomb & setsid sh bomb & setsid sh bomb & wait' > bomb; sh bomb & exec sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			m, c := newGuest(t)
			m.limitProcesses(200)
			m.timedOut(func(cmd command) outcome { return m.run(c, cmd) }, bomb, 2*time.Second)
			m.sh(c, "echo ok").expect(t, 0, "ok\n", "")
			m.nothingLeft()
		})
	}
}

// L4: a bomb whose command ends at once is over when its timeout has passed and
// somebody needs the room.
func TestL4BombOfAnEndedCommand(t *testing.T) {
	m, c := newGuest(t)
	m.limitProcesses(100)
	began := time.Now()
	m.run(c, command{sh: "echo 'while :; do setsid sh bomb & done' > bomb; sh bomb >/dev/null 2>&1 &", timeout: time.Second})
	time.Sleep(time.Until(began.Add(1100 * time.Millisecond)))
	for range 20 { // whether it finds the limit used up is a matter of luck
		m.run(c, command{argv: []string{"echo", "ok"}}).expect(t, 0, "ok\n", "")
	}
}

// L4: it need not wait for that when the bomb has most of the processes, as here
// where the command was given a minute.
func TestL4BombOfAnEndedCommandGoesAtOnce(t *testing.T) {
	m, c := newGuest(t)
	m.limitProcesses(100)
	m.run(c, command{sh: "echo 'while :; do setsid sh bomb & done' > bomb; sh bomb >/dev/null 2>&1 &", timeout: time.Minute})
	eventually(t, 10*time.Second, "the bomb to be over", func() (any, bool) {
		o, err := m.try(t.Context(), c, command{argv: []string{"sh", "-c", "set -- /proc/[0-9]*; echo $#"}})
		n, _ := strconv.Atoi(strings.TrimSpace(o.stdout))
		return fmt.Sprintf("%+v %v", o, err), err == nil && o.ExitCode == 0 && n < 10
	})
}

// limitProcesses puts the guest into cgroups of its own, as a container has
// them, with a process limit, and lets the test be where that cannot be done.
// (Without one for CPU time, every session would get a share of its own, and
// niceness would mean nothing.)
func (m *machine) limitProcesses(n int) {
	m.t.Helper()
	for _, controller := range []string{"pids", "cpu"} {
		group := fmt.Sprintf("/sys/fs/cgroup/%s/guest-test-%d", controller, m.cmd.Process.Pid)
		if err := os.Mkdir(group, 0o755); err != nil {
			m.t.Skip("no cgroup can be made here: ", err)
		}
		m.t.Cleanup(func() {
			eventually(m.t, 30*time.Second, "cgroup", func() (any, bool) { err := os.Remove(group); return err, err == nil })
		})
		m.t.Cleanup(m.stop)
		if controller == "pids" {
			check(m.t, os.WriteFile(group+"/pids.max", fmt.Append(nil, n), 0o644))
		}
		check(m.t, os.WriteFile(group+"/cgroup.procs", fmt.Append(nil, m.cmd.Process.Pid), 0o644))
	}
}

func (m *machine) threads() int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", m.cmd.Process.Pid))
	return len(entries)
}

// A full process limit is an error that says so, and passes.
func TestNoProcessesLeft(t *testing.T) {
	m, c := newGuest(t)
	m.sh(c, "true")
	m.limitProcesses(m.threads() + 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := make(chan bool)
	go c.Exec(ctx, m.params(command{argv: []string{"sh", "-c", "echo; exec sleep 60"}}), nil, func(protocol.Stream, []byte) error {
		close(started)
		return nil
	})
	<-started
	if _, err := m.try(t.Context(), c, command{argv: []string{"true"}}); !hasCode(err, protocol.ErrNoProcesses) {
		t.Errorf("got %v", err)
	}
	cancel()
	eventually(t, 30*time.Second, "exec", func() (any, bool) {
		_, err := m.try(t.Context(), c, command{argv: []string{"true"}})
		return err, err == nil
	})
}

// With not one thread or process more to be had, calls of every kind may fail
// but the guest lives.
func TestGuestNeedsNoNewThreads(t *testing.T) {
	m, c := newGuest(t)
	m.sh(c, "true")
	m.limitProcesses(m.threads())
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			name := []byte(m.file(fmt.Sprint("f", i)))
			for began := time.Now(); time.Since(began) < time.Second; {
				m.try(t.Context(), c, command{argv: []string{"true"}})
				c.Write(t.Context(), protocol.WriteParams{Path: name, MaxBytes: 1 << 20}, strings.NewReader("content"))
				c.List(t.Context(), protocol.ListParams{Path: []byte(m.workspace), Limit: 100})
			}
		})
	}
	all.Wait()
	if _, err := c.Hello(t.Context()); err != nil {
		t.Error(err)
	}
}

// L5: orphans are reaped.
func TestL5NoZombies(t *testing.T) {
	m, c := newGuest(t)
	for range 2 {
		m.sh(c, `i=0; while [ $i -lt 300 ]; do (sh -c "sleep 0.05 &"); i=$((i+1)); done; sleep 0.2`).expect(t, 0, "", "")
	}
	m.nothingLeft()
}

// Signals from inside do not end PID 1, nor does an attempt to kill everything.
func TestSignalsDoNotEndTheGuest(t *testing.T) {
	m, c := newGuest(t)
	if !m.isolated {
		skip.OrFail(t, "needs a process namespace, which only root can make")
	}
	m.sh(c, `i=1; while [ $i -le 64 ]; do kill -$i 1; i=$((i+1)); done; true`)
	m.run(c, command{sh: "kill -9 -1", timeout: 5 * time.Second})
	m.sh(c, "echo alive").expect(t, 0, "alive\n", "")
	m.sh(c, "cat /proc/1/environ; ls /proc/1/fd").expect(t, 2, "", "cat: /proc/1/environ: Permission denied\nls: cannot open directory '/proc/1/fd': Permission denied\n")
}

// Commands are nicer than the guest, and die first when memory runs out.
func TestNiceAndOOMScore(t *testing.T) {
	m, c := newGuest(t)
	m.run(c, command{argv: []string{"nice"}}).expect(t, 0, fmt.Sprintln(niceness), "")
	m.run(c, command{argv: []string{"cat", "/proc/self/oom_score_adj"}}).expect(t, 0, childOOMScore+"\n", "")
	if nice, err := unix.Getpriority(unix.PRIO_PROCESS, m.cmd.Process.Pid); err != nil || nice != 20 {
		t.Errorf("the guest's own priority is %d, %v", nice, err)
	}
}

// More commands at once than there is room for are refused, not queued.
func TestTooManyExecs(t *testing.T) {
	m, c := newGuest(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := make(chan bool, maxExecs)
	for range maxExecs {
		go c.Exec(ctx, m.params(command{sh: "echo; sleep 60"}), nil, func(protocol.Stream, []byte) error {
			started <- true
			return nil
		})
	}
	for range maxExecs {
		<-started
	}
	if _, err := m.try(t.Context(), c, command{argv: []string{"true"}}); !hasCode(err, protocol.ErrBusy) {
		t.Errorf("got %v", err)
	}
	cancel()
	m.nothingLeft()
	m.sh(c, "echo ok").expect(t, 0, "ok\n", "")
}
