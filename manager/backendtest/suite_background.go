package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var backgroundChecks = []check{
	{"it starts at once and is polled to its end", func(e *env) {
		b := e.box()
		id := e.start(b, e.script("echo o; echo e >&2; sleep 0.1; echo p; exit 3"))
		out := e.collect(b, id)
		if out.stdout != "o\np\n" || out.stderr != "e\n" || out.Code != 3 || out.StdoutBytes != 4 || out.StderrBytes != 2 || out.Duration <= 0 {
			e.Errorf("got %+v", out)
		}
		if again := e.collect(b, id); again != out {
			e.Errorf("polled again: %+v, then %+v", out, again)
		}
	}},
	{"what cannot be run ends like any other", func(e *env) {
		b := e.create()
		c, _ := inBackground(e.command("no-such-program"), patience)
		if out := e.must(b, c); out.Running || out.Code != 127 || out.stderr == "" {
			e.Errorf("in its wait: %+v", out)
		}
		id := e.start(b, e.command("no-such-program"))
		if out := e.collect(b, id); out.Code != 127 || out.stderr == "" || out.stdout != "" {
			e.Errorf("got %+v", out)
		}
		e.wantKind("signal", b.Signal(e.ctx, id, "SIGINT"), manager.KindConflict)
		e.kill(b, id)
		c.Dir = "/workspace/none"
		_, err := e.run(b, c)
		e.wantKind("no such directory", err, manager.KindInvalid)
		e.wantExecs(b, id)
	}},
	{"the list tells of all that were handed over", func(e *env) {
		b := e.create()
		first := e.start(b, e.script("exit 4"))
		second := e.start(b, e.command("sleep", "100"))
		e.collect(b, first)
		all := e.wantExecs(b, first, second)
		if s := all[0]; s.Running || s.Exit.Code != 4 || s.Terminal || time.Since(s.Started) > patience {
			e.Errorf("first: %+v", s)
		}
		if s := all[1]; !s.Running || strings.Join(s.Argv, " ") != "sleep 100" {
			e.Errorf("second: %+v", s)
		}
	}},
	{"a poll waits for news", func(e *env) {
		b := e.box()
		id := e.startWithInput(b, e.script("read x; echo got $x; read y"))
		at := cursor{}
		began := time.Now()
		if s, out := e.poll(b, id, at.options(200*time.Millisecond)); !s.Running || out.stdout != "" || time.Since(began) < 200*time.Millisecond {
			e.Errorf("with nothing to come: %+v, %q after %v", s, out.stdout, time.Since(began))
		}
		var inputs sync.WaitGroup
		defer inputs.Wait()
		e.promptly("news", func() {
			inputs.Go(func() { e.input(b, id, "a\n", false) })
			if s, out := e.poll(b, id, at.options(patience)); !s.Running || out.stdout != "got a\n" {
				e.Errorf("at output: %+v, %q", s, out.stdout)
			}
			at.stdout = 6
			inputs.Go(func() { e.input(b, id, "b\n", false) })
			if s, out := e.poll(b, id, at.options(patience)); s.Running || out.stdout != "" || s.Exit.StdoutBytes != 6 {
				e.Errorf("at the end: %+v, %q", s, out.stdout)
			}
		})
	}},
	{"offsets", func(e *env) {
		b := e.box()
		id := e.start(b, e.script("printf 0123456789; printf abc >&2"))
		e.collect(b, id)
		for _, c := range []struct {
			o              manager.PollOptions
			stdout, stderr string
			from           int64
		}{
			{manager.PollOptions{MaxBytes: 100}, "0123456789", "abc", 0},
			{manager.PollOptions{Stdout: 4, Stderr: 3, MaxBytes: 100}, "456789", "", 4},
			{manager.PollOptions{MaxBytes: 2}, "01", "ab", 0},
			{manager.PollOptions{Stdout: 10, MaxBytes: 100}, "", "abc", 10},
			{manager.PollOptions{Stdout: -3, Stderr: -100, MaxBytes: 100}, "789", "abc", 7},
			{manager.PollOptions{Stdout: -3, Stderr: -1, MaxBytes: 1}, "7", "c", 7},
			{manager.PollOptions{Stdout: 1, Follow: true}, "123456789", "abc", 1},
			{manager.PollOptions{}, "", "", 0},
		} {
			s, out := e.poll(b, id, c.o)
			if out.stdout != c.stdout || out.stderr != c.stderr || s.Stdout != c.from || s.Running {
				e.Errorf("%+v: got %q and %q from %d", c.o, out.stdout, out.stderr, s.Stdout)
			}
		}
		_, err := b.Poll(e.ctx, id, manager.PollOptions{Stdout: 11, MaxBytes: 1}, discard)
		e.wantKind("offset beyond the end", err, manager.KindInvalid)
		_, err = b.Poll(e.ctx, schemas.NewExecID(), manager.PollOptions{}, discard)
		e.wantKind("unknown ID", err, manager.KindNotFound)
	}},
	{"a slow poller of a flood loses what was dropped, and knows how much", func(e *env) {
		b := e.box()
		const size = 100_000_000
		id := e.start(b, e.script(fmt.Sprintf("head -c %d /dev/zero; head -c 1000 /dev/zero >&2", size)))
		var at cursor
		var got, dropped int64
		for running := true; running; {
			s, out := e.poll(b, id, at.options(time.Second))
			dropped += s.Stdout - at.stdout
			got += int64(len(out.stdout))
			at = at.after(s, out)
			running = s.Running || at.stdout < s.Exit.StdoutBytes
			time.Sleep(5 * time.Millisecond) // slow, as this poller is
		}
		if got+dropped != size || at.stdout != size || got == 0 {
			e.Errorf("got %d, dropped %d, together %d of %d", got, dropped, got+dropped, size)
		}
		if out := e.collect(b, id); out.StdoutBytes != size || out.StderrBytes != 1000 || len(out.stderr) != 1000 || len(out.stdout) < 16<<10 {
			e.Errorf("kept %d and %d bytes; counted %d and %d", len(out.stdout), len(out.stderr), out.StdoutBytes, out.StderrBytes)
		}
	}},
	{"two pollers do not disturb each other", func(e *env) {
		b := e.box()
		id := e.start(b, e.script("echo a; sleep 0.1; echo b; sleep 0.1; echo c >&2; sleep 0.1; echo end"))
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if out := e.collect(b, id); out.stdout != "a\nb\nend\n" || out.stderr != "c\n" {
					e.Errorf("got %+v", out)
				}
			})
		}
		wg.Wait()
	}},
	{"a follower loses nothing, however slow", followLosesNothing},
	{"a follower that goes lets the command go on", func(e *env) {
		b := e.box()
		id := e.start(b, e.script("head -c 20000000 /dev/zero; echo x > finished; sleep 100"))
		ctx, cancel := context.WithCancel(e.ctx)
		_, err := b.Poll(ctx, id, manager.PollOptions{Follow: true}, func(schemas.Stream, []byte) error {
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			e.Errorf("got %v", err)
		}
		e.eventually("the command goes on", func() (any, bool) {
			n := e.size(b, "/workspace/finished")
			return n, n > 0
		})
		mine := errors.New("mine")
		if _, err := b.Poll(e.ctx, id, manager.PollOptions{Stdout: -1, Follow: true}, func(schemas.Stream, []byte) error { return mine }); !errors.Is(err, mine) {
			e.Errorf("got %v", err)
		}
		if s, _ := e.poll(b, id, manager.PollOptions{}); !s.Running {
			e.Errorf("got %+v", s)
		}
	}},
	{"a timeout ends it, with the output so far", func(e *env) {
		b := e.box()
		c := e.script("echo before; echo warn >&2; " + ticking)
		c.Timeout = 500 * time.Millisecond
		out := e.collect(b, e.start(b, c))
		if !out.TimedOut || out.Code != 137 || out.stdout != "before\n" || out.stderr != "warn\n" {
			e.Errorf("got %+v", out)
		}
		e.wantStill(b, tickFiles...)
	}},
	{"children that it leaves hold nothing up", func(e *env) {
		b := e.box()
		id := e.start(b, e.script("(while :; do echo a >> child; sleep 0.05; done) & echo ok"))
		e.promptly("end", func() {
			if out := e.collect(b, id); out.Code != 0 || out.stdout != "ok\n" {
				e.Errorf("got %+v", out)
			}
		})
		e.wantGrowing(b, "/workspace/child")
		e.kill(b, id)
		e.wantStill(b, "/workspace/child")
	}},
	{"kill ends all that it started, as often as one likes", func(e *env) {
		b := e.box()
		e.sh(b, "(while :; do echo a >> other; sleep 0.05; done) &")
		id := e.start(b, e.script(ticking))
		e.wantGrowing(b, tickFiles...)
		for range 3 {
			e.promptly("kill", func() { e.kill(b, id) })
		}
		e.wantStill(b, tickFiles...)
		e.wantGrowing(b, "/workspace/other")
		if out := e.collect(b, id); out.Code != 137 || out.Signal != "SIGKILL" || out.TimedOut || out.OOMKilled {
			e.Errorf("got %+v", out)
		}
		e.wantKind("unknown ID", b.Kill(e.ctx, schemas.NewExecID()), manager.KindNotFound)
	}},
	{"signals", func(e *env) {
		b := e.box()
		for name, code := range map[string]int{"SIGINT": 130, "SIGTERM": 143, "SIGKILL": 137, "SIGHUP": 129, "SIGUSR1": 138} {
			id := e.start(b, e.command("sleep", "100"))
			e.signal(b, id, "SIGWINCH") // ignored, unless a program wants it
			if s, _ := e.poll(b, id, manager.PollOptions{}); !s.Running {
				e.Errorf("after SIGWINCH: %+v", s)
			}
			e.signal(b, id, name)
			if out := e.collect(b, id); out.Code != code || out.Signal != name || out.OOMKilled || out.TimedOut {
				e.Errorf("%s: %+v", name, out)
			}
			e.wantKind("signal after the end", b.Signal(e.ctx, id, name), manager.KindConflict)
		}
		id := e.start(b, e.command("sleep", "100"))
		for _, name := range []string{"", "INT", "SIGNO", "9", "SIGRTMIN-1", "sigint"} {
			e.wantKind(name, b.Signal(e.ctx, id, name), manager.KindInvalid)
		}
		e.wantKind("unknown ID", b.Signal(e.ctx, schemas.NewExecID(), "SIGINT"), manager.KindNotFound)
		e.wantKind("resize of what has no terminal", b.Resize(e.ctx, id, manager.WindowSize{Columns: 80, Rows: 24}), manager.KindConflict)
		e.kill(b, id)
	}},
	{"input in fifty rounds", func(e *env) {
		b := e.box()
		id := e.startWithInput(b, e.script("while read x; do echo answer to $x; done; echo over"))
		var at cursor
		for i := range 50 {
			e.input(b, id, fmt.Sprintf("question %d\n", i), false)
			want := fmt.Sprintf("answer to question %d\n", i)
			for got := ""; got != want; {
				s, out := e.poll(b, id, at.options(patience))
				at = at.after(s, out)
				if got += out.stdout; !strings.HasPrefix(want, got) || !s.Running {
					e.Fatalf("round %d: got %q, %+v", i, got, s)
				}
			}
		}
		e.input(b, id, "", true)
		if out := e.collect(b, id); !strings.HasSuffix(out.stdout, "over\n") || out.Code != 0 {
			e.Errorf("got %+v", out)
		}
	}},
	{"input arrives whole with its end", func(e *env) {
		b := e.box()
		id := e.startWithInput(b, e.command("wc", "-c"))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { e.input(b, id, strings.Repeat("x", 1_000_000), false) })
		}
		wg.Wait()
		e.input(b, id, "last", true)
		if out := e.collect(b, id); strings.TrimSpace(out.stdout) != "3000004" {
			e.Errorf("got %+v", out)
		}
	}},
	{"input that is not read", func(e *env) {
		b := e.box()
		id := e.startWithInput(b, e.command("sleep", "100"))
		const size = 1 << 20
		ctx, cancel := context.WithTimeout(e.ctx, 300*time.Millisecond)
		defer cancel()
		e.promptly("input", func() {
			taken, err := b.Input(ctx, id, bytes.NewReader(make([]byte, size)), true)
			if !errors.Is(err, context.DeadlineExceeded) || taken < 0 || taken >= size {
				e.Errorf("took %d, %v", taken, err)
			}
		})
		waiting := make(chan error, 1)
		go func() {
			_, err := b.Input(e.ctx, id, zeros{}, false)
			waiting <- err
		}()
		e.kill(b, id)
		e.promptly("input of what is killed", func() { e.wantKind("input", <-waiting, manager.KindConflict) })
	}},
	{"input that cannot be", func(e *env) {
		b := e.box()
		feed := func(id schemas.ExecID) error {
			_, err := b.Input(e.ctx, id, strings.NewReader("x"), false)
			return err
		}
		e.wantKind("unknown ID", feed(schemas.NewExecID()), manager.KindNotFound)
		ended := e.startWithInput(b, e.command("true"))
		e.collect(b, ended)
		e.wantKind("of what has ended", feed(ended), manager.KindConflict)
		none := e.start(b, e.command("sleep", "100"))
		e.wantKind("of what has none", feed(none), manager.KindConflict)
		over := e.startWithInput(b, e.script("cat > got; sleep 100"))
		e.input(b, over, "x", true)
		e.wantKind("after its end", feed(over), manager.KindConflict)
		e.kill(b, none)
		e.kill(b, over)
	}},
	{"an error of the input's reader is returned", func(e *env) {
		b := e.box()
		id := e.startWithInput(b, e.command("wc", "-c"))
		mine := errors.New("mine")
		taken, err := b.Input(e.ctx, id, &failing{strings.NewReader("half"), mine}, true)
		if !errors.Is(err, mine) || taken != 4 {
			e.Errorf("took %d, %v", taken, err)
		}
		e.input(b, id, "rest", true)
		if out := e.collect(b, id); strings.TrimSpace(out.stdout) != "8" {
			e.Errorf("got %+v", out)
		}
	}},
	{"a standard input is kept at the hand-over", func(e *env) {
		b := e.box()
		for _, wait := range []time.Duration{0, 50 * time.Millisecond} {
			c := e.script("sleep 0.5; wc -c")
			c.Stdin = bytes.NewReader(make([]byte, 200_000))
			if out := e.collect(b, e.startAfter(b, c, wait)); strings.TrimSpace(out.stdout) != "200000" {
				e.Errorf("got %+v", out)
			}
		}
	}},
}

func followLosesNothing(e *env) {
	b := e.box()
	const size = 8_000_000
	id := e.startWithInput(b, e.script(fmt.Sprintf("echo ready; read x; head -c %d /dev/zero; exit 5", size)))
	var got, calls int64
	s, err := b.Poll(e.ctx, id, manager.PollOptions{Follow: true}, func(_ schemas.Stream, chunk []byte) error {
		if got += int64(len(chunk)); got == int64(len("ready\n")) {
			go e.input(b, id, "go\n", false)
		}
		if calls++; calls < 20 {
			time.Sleep(20 * time.Millisecond) // slow, as this follower is
		}
		return nil
	})
	if want := int64(size + len("ready\n")); err != nil || got != want || s.Running || s.Exit.Code != 5 || s.Exit.StdoutBytes != want || s.Stdout != 0 {
		e.Errorf("got %d bytes, %+v, %v", got, s, err)
	}
}
