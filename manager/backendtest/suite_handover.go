package backendtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var handOverChecks = []check{
	{"one that ends in time is an exec like any other", func(e *env) {
		b := e.create()
		c, id := inBackground(e.script("echo o; echo e >&2; exit 3"), patience)
		if out := e.must(b, c); out.Running || out.stdout != "o\n" || out.stderr != "e\n" || out.Code != 3 {
			e.Errorf("got %+v", out)
		}
		e.wantExecs(b)
		_, err := b.Poll(e.ctx, id, manager.PollOptions{}, discard)
		e.wantKind("poll", err, manager.KindNotFound)
	}},
	{"one that takes longer is handed over", func(e *env) {
		b := e.box()
		c, id := inBackground(e.script("echo first; sleep 0.6; echo second; exit 3"), 300*time.Millisecond)
		out := e.must(b, c)
		if !out.Running || out.stdout != "first\n" || out.StdoutBytes != 6 || out.Duration < 300*time.Millisecond {
			e.Errorf("got %+v", out)
		}
		s, rest := e.poll(b, id, manager.PollOptions{Stdout: out.StdoutBytes, Follow: true})
		if rest.stdout != "second\n" || s.Exit.Code != 3 || s.Exit.StdoutBytes != 13 {
			e.Errorf("then %+v, %q", s, rest.stdout)
		}
	}},
	{"no byte is lost or doubled at the hand-over", gapless},
	{"the end and the hand-over give one answer", oneAnswer},
	{"caps are for the attached phase", func(e *env) {
		b := e.box()
		c, id := inBackground(e.script("printf 0123456789abcdef; read x; echo $x"), 300*time.Millisecond)
		c.MaxStdout, c.Background.Input = 10, true
		out := e.must(b, c)
		if !out.Running || out.stdout != "0123456789" || out.StdoutBytes != 16 {
			e.Errorf("got %+v", out)
		}
		e.input(b, id, "more\n", false)
		if _, rest := e.poll(b, id, manager.PollOptions{Stdout: out.StdoutBytes, Follow: true}); rest.stdout != "more\n" {
			e.Errorf("then %q", rest.stdout)
		}
		if _, all := e.poll(b, id, manager.PollOptions{MaxBytes: 100}); all.stdout != "0123456789abcdefmore\n" {
			e.Errorf("all of it: %q", all.stdout)
		}
	}},
	{"before the hand-over the end of the context kills it", func(e *env) {
		b := e.create()
		ctx, cancel := context.WithCancel(e.ctx)
		defer cancel()
		c, _ := inBackground(e.script(ticking), patience)
		done := make(chan error, 1)
		go func() {
			_, err := b.Exec(ctx, c, discard)
			done <- err
		}()
		e.wantGrowing(b, tickFiles...)
		cancel()
		e.promptly("exec", func() {
			if err := <-done; !errors.Is(err, context.Canceled) {
				e.Errorf("got %v", err)
			}
		})
		e.wantStopping(b, tickFiles...)
		e.wantExecs(b)
	}},
	{"before the hand-over an error of emit kills it", func(e *env) {
		b := e.create()
		mine := errors.New("mine")
		c, _ := inBackground(e.script("echo x; "+ticking), patience)
		e.promptly("exec", func() {
			if _, err := b.Exec(e.ctx, c, func(schemas.Stream, []byte) error { return mine }); !errors.Is(err, mine) {
				e.Errorf("got %v", err)
			}
		})
		e.wantStopping(b, tickFiles...)
		e.wantExecs(b)
	}},
	{"it outlives the connection, those attached do not", func(e *env) {
		b := e.create()
		id := e.startWithInput(b, e.script("echo one; while read x; do echo $x; done"))
		s, out := e.poll(b, id, cursor{}.options(prompt))
		at := cursor{}.after(s, out)
		c, _ := inBackground(e.script(ticking), patience)
		attached := make(chan error, 1)
		go func() {
			_, err := b.Exec(e.ctx, c, discard)
			attached <- err
		}()
		following := make(chan error, 1)
		go func() {
			_, err := b.Poll(e.ctx, id, manager.PollOptions{Follow: true}, discard)
			following <- err
		}()
		e.wantGrowing(b, tickFiles...)
		e.input(b, id, "two\n", false)
		again := e.open(b)
		e.promptly("calls of the old connection", func() {
			e.wantKind("attached", <-attached, manager.KindLost)
			e.wantKind("poll", <-following, manager.KindLost)
		})
		e.wantStill(again, tickFiles...)
		e.wantExecs(again, id)
		e.input(again, id, "three\n", true)
		if s, rest := e.poll(again, id, manager.PollOptions{Stdout: at.stdout, Follow: true}); out.stdout+rest.stdout != "one\ntwo\nthree\n" || s.Exit.Code != 0 {
			e.Errorf("got %q, then %q, %+v", out.stdout, rest.stdout, s)
		}
	}},
	{"it ends with its container", func(e *env) {
		b := e.create()
		id := e.start(b, e.command("sleep", "100"))
		following := make(chan error, 1)
		go func() {
			_, err := b.Poll(e.ctx, id, manager.PollOptions{Follow: true}, discard)
			following <- err
		}()
		stop(e, b)
		e.promptly("poll", func() { e.wantKind("poll", <-following, manager.KindLost) })
		e.closes("done", b.Done())
		_, err := b.Execs(e.ctx)
		e.wantKind("execs", err, manager.KindLost)
		_, err = b.Poll(e.ctx, id, manager.PollOptions{}, discard)
		e.wantKind("poll", err, manager.KindLost)
		_, err = b.Input(e.ctx, id, bytes.NewReader(nil), true)
		e.wantKind("input", err, manager.KindLost)
		e.wantKind("signal", b.Signal(e.ctx, id, "SIGINT"), manager.KindLost)
		e.wantKind("kill", b.Kill(e.ctx, id), manager.KindLost)
		e.wantExecs(e.open(b))
	}},
	{"no more than so many run, and the oldest that has ended goes", backgroundLimit},
}

// gapless floods across a hand-over at a random moment. What is read, before and
// after, has to be what belongs at its offset.
func gapless(e *env) {
	b := e.box()
	text := make([]byte, 99_991)
	rand.Read(text)
	e.write(b, "/workspace/f", string(text))
	expect := func(at int64, chunk []byte) bool {
		for len(chunk) > 0 {
			want := text[at%int64(len(text)):]
			n := min(len(want), len(chunk))
			if !bytes.Equal(want[:n], chunk[:n]) {
				return false
			}
			at, chunk = at+int64(n), chunk[n:]
		}
		return true
	}
	for range 20 {
		c, id := inBackground(e.script("while :; do cat f; done"), upTo(50*time.Millisecond))
		var at int64
		exit, err := b.Exec(e.ctx, c, func(_ schemas.Stream, chunk []byte) error {
			if !expect(at, chunk) {
				return fmt.Errorf("attached: wrong bytes at %d", at)
			}
			at += int64(len(chunk))
			return nil
		})
		if err != nil || !exit.Running || exit.StdoutBytes != at {
			e.Fatalf("handed over at %d after %d bytes: %+v, %v", exit.StdoutBytes, at, exit, err)
		}
		for range 5 {
			s, out := e.poll(b, id, cursor{stdout: at}.options(prompt))
			if s.Stdout < at || out.stdout == "" || !expect(s.Stdout, []byte(out.stdout)) {
				e.Fatalf("poll at %d: %d wrong bytes from %d", at, len(out.stdout), s.Stdout)
			}
			at = s.Stdout + int64(len(out.stdout))
		}
		enough := errors.New("enough")
		first := true
		_, err = b.Poll(e.ctx, id, manager.PollOptions{Stdout: -1000, Follow: true}, func(_ schemas.Stream, chunk []byte) error {
			if first { // where that is, only the end would tell
				first = false
				at = int64(bytes.Index(append(text, text...), chunk[:100]))
			}
			if !expect(at, chunk) {
				return fmt.Errorf("followed: wrong bytes at %d", at)
			}
			if at += int64(len(chunk)); at > 2_000_000 {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			e.Fatal(err)
		}
		e.kill(b, id)
	}
}

// oneAnswer lets commands end about when they would be handed over.
func oneAnswer(e *env) {
	b := e.box()
	handedOver := 0
	for i := range 500 {
		c, id := inBackground(e.script("echo out; echo err >&2; exit 9"), upTo(6*time.Millisecond))
		out := e.must(b, c)
		if out.Running {
			handedOver++
			s, rest := e.poll(b, id, manager.PollOptions{Stdout: out.StdoutBytes, Stderr: out.StderrBytes, Follow: true})
			out.stdout, out.stderr, out.Exit = out.stdout+rest.stdout, out.stderr+rest.stderr, s.Exit
			if again := e.collect(b, id); again.Exit != out.Exit {
				e.Fatalf("round %d: %+v, then %+v", i, out, again)
			}
		}
		if out.stdout != "out\n" || out.stderr != "err\n" || out.Code != 9 || out.Running || out.StdoutBytes != 4 || out.StderrBytes != 4 {
			e.Fatalf("round %d: %+v", i, out)
		}
	}
	e.Logf("%d of 500 were handed over", handedOver)
}

func backgroundLimit(e *env) {
	b := e.create()
	ids := make([]schemas.ExecID, manager.MaxBackground)
	for i := range ids {
		ids[i] = e.start(b, e.command("sleep", "100"))
	}
	refused := func(wait time.Duration) {
		e.Helper()
		c, _ := inBackground(e.script("touch started"), wait)
		_, err := e.run(b, c)
		e.wantKind("one too many", err, manager.KindLimit)
	}
	refused(0)
	refused(patience)
	if e.size(b, "/workspace/started") >= 0 {
		e.Error("it was started all the same")
	}
	if got := e.sh(b, "echo other execs go on"); got == "" {
		e.Error("no output")
	}
	e.kill(b, ids[20])
	e.kill(b, ids[10])
	c, _ := inBackground(e.script("echo attached"), patience) // ends in time, so nothing need go
	if out := e.must(b, c); out.stdout != "attached\n" {
		e.Errorf("got %+v", out)
	}
	e.wantExecs(b, ids...)
	for _, gone := range []int{10, 19} { // the second is what was number 20
		next := e.start(b, e.command("sleep", "100"))
		ids = append(append(ids[:gone:gone], ids[gone+1:]...), next)
		e.wantExecs(b, ids...)
	}
	refused(0)
	e.eventually("all are killed", func() (any, bool) {
		for _, id := range ids {
			e.kill(b, id)
		}
		return nil, true
	})
	for _, s := range e.wantExecs(b, ids...) {
		if s.Running || s.Exit.Code != 137 {
			e.Errorf("got %+v", s)
		}
	}
}
