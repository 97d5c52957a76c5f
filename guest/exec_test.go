//go:build linux

package guest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// repeat runs f n times, in eight goroutines; a tenth of that with -short.
func repeat(n int, f func()) {
	if testing.Short() {
		n = max(n/10, 8)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range n / 8 {
				f()
			}
		})
	}
	all.Wait()
}

// A1: the output of a trivial command is never lost.
func TestA1EchoIsNeverEmpty(t *testing.T) {
	m, c := newGuest(t)
	repeat(500, func() {
		m.run(c, command{argv: []string{"echo", "running"}}).expect(t, 0, "running\n", "")
	})
}

// A2: both streams arrive whole although the program exits at once.
func TestA2BothStreamsAreWhole(t *testing.T) {
	m, c := newGuest(t)
	out, errs := random(256<<10), random(64<<10)
	check(t, os.WriteFile(m.file("out"), out, 0o644))
	check(t, os.WriteFile(m.file("err"), errs, 0o644))
	repeat(200, func() {
		o := m.sh(c, "cat err >&2 & cat out; wait")
		if sum(o.stdout) != sum(string(out)) || sum(o.stderr) != sum(string(errs)) {
			t.Errorf("got %d and %d bytes, or others than were written", len(o.stdout), len(o.stderr))
		}
	})
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

func sum(s string) [32]byte { return sha256.Sum256([]byte(s)) }

// A3: a last line needs no newline.
func TestA3TailWithoutNewline(t *testing.T) {
	m, c := newGuest(t)
	repeat(300, func() {
		m.sh(c, "printf a; printf b >&2").expect(t, 0, "a", "b")
	})
}

// A4: a slow reader slows the command and loses nothing.
func TestA4SlowReaderLosesNothing(t *testing.T) {
	m, c := newGuest(t)
	const size = 8 << 20
	var got, calls int
	result, err := c.Exec(t.Context(), m.params(command{sh: fmt.Sprintf("head -c %d /dev/zero; touch done", size)}), nil,
		func(_ protocol.Stream, chunk []byte) error {
			if calls++; calls == 1 {
				time.Sleep(500 * time.Millisecond)
				if _, err := os.Stat(m.file("done")); err == nil {
					t.Error("the command ended while nobody read: somebody buffers its output")
				}
			}
			time.Sleep(time.Millisecond)
			got += len(chunk)
			return nil
		})
	if err != nil || got != size || result.StdoutBytes != size {
		t.Errorf("got %d bytes of %d, result %+v, error %v", got, size, result, err)
	}
}

// A5, A14: the status is always there and right, and the streams stay apart.
func TestA5A14ExitStatus(t *testing.T) {
	m, c := newGuest(t)
	repeat(300, func() {
		o := m.sh(c, "kill -9 $$")
		o.expect(t, 137, "", "")
		if o.Signal != "SIGKILL" || o.TimedOut || o.OOMKilled {
			t.Errorf("got %+v", o.ExecResult)
		}
		m.sh(c, "exit 7").expect(t, 7, "", "")
	})
	m.sh(c, "echo o; echo e >&2; exit 3").expect(t, 3, "o\n", "e\n")
	m.sh(c, "false | true").expect(t, 0, "", "")
	m.sh(c, "true\nfalse").expect(t, 1, "", "")
	if o := m.sh(c, "kill -TERM $$"); o.ExitCode != 143 || o.Signal != "SIGTERM" {
		t.Errorf("got %+v", o.ExecResult)
	}
}

// A6: a child left in the background holds the pipe, but not the result. It
// lives on.
func TestA6BackgroundChildDoesNotHoldTheResult(t *testing.T) {
	m, c := newGuest(t)
	began := time.Now()
	m.run(c, command{sh: "sleep 300 & echo $! > pid; echo ok", timeout: 30 * time.Second}).expect(t, 0, "ok\n", "")
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	m.sh(c, "kill -0 $(cat pid) && echo alive").expect(t, 0, "alive\n", "")
}

// A7: what was written before the end is delivered though a sleeper holds the
// pipe.
func TestA7HeldPipeIsDrained(t *testing.T) {
	m, c := newGuest(t)
	began := time.Now()
	o := m.sh(c, "head -c 3000000 /dev/zero; sleep 120 &")
	if len(o.stdout) != 3000000 || o.StdoutBytes != 3000000 || time.Since(began) > 3*time.Second {
		t.Errorf("got %d bytes in %v", len(o.stdout), time.Since(began))
	}
}

// A7: a child that floods the pipe delays the result by a bounded time, and is
// neither killed by SIGPIPE nor blocked afterwards.
func TestA7FloodingChild(t *testing.T) {
	m, c := newGuest(t)
	began := time.Now()
	o := m.run(c, command{sh: "(i=0; while :; do echo $i; i=$((i+1)); echo $i > count; done) & echo $! > pid; echo first", max: 1 << 10})
	if took := time.Since(began); o.ExitCode != 0 || took > 4*time.Second {
		t.Errorf("exit %d after %v", o.ExitCode, took)
	}
	before := m.sh(c, "cat count").stdout
	eventually(t, 30*time.Second, "count of the background child", func() (any, bool) {
		now := m.sh(c, "cat count").stdout
		return now, now != before && now != ""
	})
	m.sh(c, "kill -9 $(cat pid)").expect(t, 0, "", "")
}

// A9: what cannot be run is reported as a shell does, on standard error.
func TestA9NotRunnable(t *testing.T) {
	m, c := newGuest(t)
	check(t, os.WriteFile(m.file("plain"), []byte("#!/bin/sh\n"), 0o644))
	check(t, os.WriteFile(m.file("shebang"), []byte("#!/no/such/interpreter\n"), 0o755))
	check(t, os.WriteFile(m.file("garbage"), []byte("\x7fELF garbage"), 0o755))
	for _, test := range []struct {
		argv []string
		code int
		want string
	}{
		{[]string{"no-such-bin"}, 127, "no-such-bin: not found\n"},
		{[]string{"cd", "/"}, 127, "cd: not found\n"},
		{[]string{""}, 127, ": not found\n"},
		{[]string{"./no-such-file"}, 127, "./no-such-file: not found\n"},
		{[]string{m.workspace}, 126, m.workspace + ": is a directory\n"},
		{[]string{"./plain"}, 126, "./plain: permission denied\n"},
		{[]string{"./shebang"}, 126, "./shebang: bad interpreter: not found\n"},
		{[]string{"./garbage"}, 126, "./garbage: exec format error\n"},
	} {
		m.run(c, command{argv: test.argv}).expect(t, test.code, "", test.want)
	}
}

// A10: commands that fail to start leave nothing behind.
func TestA10NoLeaks(t *testing.T) {
	m, c := newGuest(t)
	m.run(c, command{argv: []string{"true"}})
	before, goroutines := m.descriptors(), runtime.NumGoroutine()
	repeat(300, func() {
		m.run(c, command{argv: []string{"no-such-bin"}}).expect(t, 127, "", "no-such-bin: not found\n")
		m.run(c, command{argv: []string{"true"}}).expect(t, 0, "", "")
	})
	eventually(t, 30*time.Second, "open descriptors of the guest", func() (any, bool) {
		now := m.descriptors()
		return fmt.Sprint(now, " for ", before), now <= before+2
	})
	eventually(t, 30*time.Second, "goroutines of the client", func() (any, bool) {
		now := runtime.NumGoroutine()
		return fmt.Sprint(now, " for ", goroutines), now <= goroutines+2
	})
}

func (m *machine) descriptors() int {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", m.cmd.Process.Pid))
	return len(entries)
}

// A13: nothing is added to a command's output.
func TestA13NoNoise(t *testing.T) {
	m, c := newGuest(t)
	m.run(c, command{argv: []string{"true"}}).expect(t, 0, "", "")
	m.run(c, command{sh: ":", dir: "/"}).expect(t, 0, "", "")
}

// A17, E4: at the limit nothing is cut, one byte more is, in whatever pieces it
// is written, and each stream has its own limit.
func TestA17E4Caps(t *testing.T) {
	m, c := newGuest(t)
	for _, n := range []int64{99, 100, 101} {
		for _, script := range []string{
			fmt.Sprintf("head -c %d /dev/zero", n),
			fmt.Sprintf("i=0; while [ $i -lt %d ]; do printf '\\0'; i=$((i+1)); done", n),
		} {
			for _, suffix := range []string{"", " >&2"} {
				o := m.run(c, command{sh: "{ " + script + "; }" + suffix, max: 100})
				got, total := len(o.stdout)+len(o.stderr), o.StdoutBytes+o.StderrBytes
				if int64(got) != min(n, 100) || total != n || o.ExitCode != 0 {
					t.Errorf("%s%s: %d bytes came, %d counted", script, suffix, got, total)
				}
			}
		}
	}
}

func TestWorkdirMustExist(t *testing.T) {
	m, c := newGuest(t)
	for _, dir := range []string{"/no/such/dir", "/etc/passwd"} {
		_, err := m.try(t.Context(), c, command{argv: []string{"true"}, dir: dir})
		if !hasCode(err, protocol.ErrInvalid) || !strings.Contains(err.Error(), "workdir "+dir) {
			t.Errorf("in %s: got %v", dir, err)
		}
	}
	m.run(c, command{argv: []string{"pwd"}, dir: "/usr"}).expect(t, 0, "/usr\n", "")
}

// F16: what the guest may enter and a command may not is taken by where its text
// leads, or refused; it is not the program's fault.
func TestF16WorkdirOfTheGuest(t *testing.T) {
	m, c := newGuest(t)
	m.run(c, command{argv: []string{"pwd"}, dir: "/proc/1/root"}).expect(t, 0, "/\n", "")
	check(t, os.Symlink("/proc/self/cwd", m.file("link")))
	if o, err := m.try(t.Context(), c, command{argv: []string{"pwd"}, dir: m.file("link")}); err != nil || o.ExitCode != 0 {
		t.Errorf("through a link: %+v, %v", o, err)
	}
	for _, dir := range []string{"/proc/self/fd/0", "/proc/1/fd/7", "/proc/1/exe"} {
		if _, err := m.try(t.Context(), c, command{argv: []string{"true"}, dir: dir}); !hasCode(err, protocol.ErrInvalid) {
			t.Errorf("in %s: got %v", dir, err)
		}
	}
}

func TestPathAndEnvironmentAreTheCallers(t *testing.T) {
	m, c := newGuest(t)
	check(t, os.WriteFile(m.file("tool"), []byte("#!/bin/sh\necho tool $X\n"), 0o755))
	m.run(c, command{argv: []string{"tool"}, env: []string{"X=1", "PATH=" + m.workspace}}).expect(t, 0, "tool 1\n", "")
	o := m.run(c, command{argv: []string{"/usr/bin/env"}, env: []string{"X=1"}})
	want := "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=" + m.workspace + "\nX=1\n"
	o.expect(t, 0, want, "")
}

// A command gets nothing from the guest but its three streams: no descriptors,
// no blocked or ignored signals, and the limits of the container.
func TestChildrenInheritNothing(t *testing.T) {
	m, c := newGuest(t)
	m.run(c, command{argv: []string{"ls", "/proc/self/fd"}}).expect(t, 0, "0\n1\n2\n3\n", "") // 3 is the directory
	m.run(c, command{argv: []string{"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}}).expect(t, 0, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n", "")
	m.sh(c, "ulimit -n").expect(t, 0, m.limitOf("ulimit -n"), "")
}

// limitOf is what a shell outside says.
func (m *machine) limitOf(script string) string {
	out, err := exec.Command("sh", "-c", script).Output()
	check(m.t, err)
	return string(out)
}

func TestLongArguments(t *testing.T) {
	m, c := newGuest(t)
	_, err := m.try(t.Context(), c, command{argv: []string{"true", strings.Repeat("x", 3<<20)}})
	if !hasCode(err, protocol.ErrInvalid) {
		t.Errorf("3 MiB: got %v", err)
	}
	_, err = m.try(t.Context(), c, command{argv: []string{"true", "a\x00b"}})
	if !hasCode(err, protocol.ErrInvalid) {
		t.Errorf("NUL: got %v", err)
	}
}

// C1: without standard input there is an immediate end of file.
func TestC1NoStdin(t *testing.T) {
	m, c := newGuest(t)
	m.sh(c, "read x; echo got:$x").expect(t, 0, "got:\n", "")
	m.run(c, command{argv: []string{"cat"}}).expect(t, 0, "", "")
}

// C2: input of any size arrives, and so does its end.
func TestC2StdinArrivesWithItsEnd(t *testing.T) {
	m, c := newGuest(t)
	for _, n := range []int{0, 1, 65536, 5000000} {
		m.run(c, command{argv: []string{"wc", "-c"}, stdin: bytes.NewReader(make([]byte, n))}).expect(t, 0, fmt.Sprintln(n), "")
	}
	data := random(1 << 20)
	repeat(50, func() {
		o := m.run(c, command{argv: []string{"cat"}, stdin: bytes.NewReader(data)})
		if o.stdout != string(data) {
			t.Errorf("%d of %d bytes came back, or others", len(o.stdout), len(data))
		}
	})
}

// C2: a program that ignores its input, or leaves before its end, is no error.
func TestC2IgnoredStdin(t *testing.T) {
	m, c := newGuest(t)
	m.run(c, command{argv: []string{"true"}, stdin: bytes.NewReader(make([]byte, 5<<20))}).expect(t, 0, "", "")
	m.run(c, command{sh: "exec <&-; sleep 0.1; echo ok", stdin: bytes.NewReader(make([]byte, 5<<20))}).expect(t, 0, "ok\n", "")
	endless, stop := io.Pipe() // never ends, never gives a byte
	defer stop.Close()
	m.run(c, command{argv: []string{"echo", "early"}, stdin: endless}).expect(t, 0, "early\n", "")
}

// Input that breaks off kills the command instead of ending its input.
func TestC2BrokenStdin(t *testing.T) {
	m, c := newGuest(t)
	broken := errors.New("disk on fire")
	_, err := m.try(t.Context(), c, command{sh: "cat > got; touch whole", stdin: io.MultiReader(strings.NewReader("half"), failing{broken})})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	time.Sleep(100 * time.Millisecond)
	if _, err := os.Stat(m.file("whole")); err == nil {
		t.Error("the command took half of its input for the whole")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// C4: nobody pretends to be a terminal.
func TestC4NoTerminal(t *testing.T) {
	m, c := newGuest(t)
	m.sh(c, `test -t 0; echo $?; test -t 1; echo $?; printf "a\n" | od -An -c`).expect(t, 0, "1\n1\n   a  \\n\n", "")
}

// D1, D4: bytes are bytes, and come as they are written.
func TestD1D4BytesAreBytes(t *testing.T) {
	m, c := newGuest(t)
	m.sh(c, `printf 'a\000b'`).expect(t, 0, "a\x00b", "")
	m.sh(c, `for b in 360 237 230 200; do printf "\\$b"; sleep 0.03; done`).expect(t, 0, "\U0001F600", "")
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	m.run(c, command{argv: []string{"cat"}, stdin: bytes.NewReader(all)}).expect(t, 0, string(all), "")
}

// Output does not wait for more, however little it is, also where it can be
// packed, and also when it is the last of its stream.
func TestOutputComesAtOnce(t *testing.T) {
	m, c := newGuest(t)
	for name, test := range map[string]struct {
		sh   string
		size int
	}{
		"a byte":                   {"printf x; sleep 60", 1},
		"what packs":               {"head -c 30000 /dev/zero; sleep 60", 30_000},
		"more":                     {"head -c 1000000 /dev/zero; sleep 60", 1_000_000},
		"before the stream's end":  {"head -c 30000 /dev/zero; exec >&-; sleep 60", 30_000},
		"on standard error":        {"head -c 30000 /dev/zero >&2; sleep 60", 30_000},
		"on both, one right after": {"head -c 30000 /dev/zero; head -c 30000 /dev/zero >&2; sleep 60", 60_000},
	} {
		cmd := m.params(command{sh: test.sh})
		for way, call := range map[string]func(ctx context.Context, emit func(protocol.Stream, []byte) error) error{
			"exec": func(ctx context.Context, emit func(protocol.Stream, []byte) error) error {
				_, err := c.Exec(ctx, cmd, nil, emit)
				return err
			},
			"start": func(ctx context.Context, emit func(protocol.Stream, []byte) error) error {
				_, err := c.Start(ctx, protocol.StartParams{ExecParams: cmd, ID: newExecID(), Wait: time.Minute}, nil, emit)
				return err
			},
			"poll": func(ctx context.Context, emit func(protocol.Stream, []byte) error) error {
				id := m.background(c, command{sh: test.sh})
				defer m.killJob(c, id)
				_, err := c.Poll(ctx, protocol.PollParams{ID: id, Follow: true}, emit)
				return err
			},
		} {
			t.Run(name+", by "+way, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				got := 0
				err := call(ctx, func(_ protocol.Stream, chunk []byte) error {
					if got += len(chunk); got >= test.size {
						cancel()
					}
					return nil
				})
				if got != test.size || !errors.Is(err, context.Canceled) {
					t.Errorf("got %d bytes of %d, %v", got, test.size, err)
				}
			})
		}
	}
}
