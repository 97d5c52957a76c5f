package backendtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ticking starts what must all die with an exec: a child, a grandchild in a
// session of its own, and the command itself.
const ticking = `
(while :; do echo a >> child; sleep 0.05; done) &
setsid sh -c '(while :; do echo a >> stray; sleep 0.05; done) &' &
trap "" TERM INT HUP
while :; do echo a >> self; sleep 0.05; done`

var tickFiles = []string{"/workspace/child", "/workspace/stray", "/workspace/self"}

var killChecks = []check{
	{"timeout ends it, with the output so far", func(e *env) {
		c := e.script("echo before; echo warn >&2; sleep 100")
		c.Timeout = 500 * time.Millisecond
		b := e.box()
		e.promptly("exec", func() {
			out := e.must(b, c)
			if !out.TimedOut || out.Code != 137 || out.stdout != "before\n" || out.stderr != "warn\n" {
				e.Errorf("got %+v", out)
			}
		})
	}},
	{"timeout kills all that it started, and nothing else", func(e *env) {
		b := e.box()
		e.sh(b, "(while :; do echo a >> other; sleep 0.05; done) &")
		c := e.script(ticking)
		c.Timeout = time.Second
		if out := e.must(b, c); !out.TimedOut {
			e.Errorf("got %+v", out)
		}
		e.wantStill(b, tickFiles...)
		e.wantGrowing(b, "/workspace/other")
	}},
	{"timeout is not inferred", func(e *env) {
		c := e.script("kill -9 $$")
		c.Timeout = time.Minute
		if out := e.must(e.box(), c); out.TimedOut {
			e.Errorf("got %+v", out)
		}
	}},
	{"end of the context kills it", func(e *env) {
		b := e.box()
		ctx, cancel := context.WithCancel(e.ctx)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := b.Exec(ctx, e.script(ticking), discard)
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
	}},
	{"an error of emit kills it and is returned", func(e *env) {
		b := e.box()
		mine := errors.New("mine")
		e.promptly("exec", func() {
			_, err := b.Exec(e.ctx, e.script("echo x; "+ticking), func(schemas.Stream, []byte) error { return mine })
			if !errors.Is(err, mine) {
				e.Errorf("got %v", err)
			}
		})
		e.wantStopping(b, tickFiles...)
	}},
	{"a standard input that never comes does not hold up a kill", func(e *env) {
		c := e.command("cat")
		c.Stdin, c.Timeout = blockedReader{e.ctx}, 300*time.Millisecond
		b := e.box()
		e.promptly("exec", func() {
			if out := e.must(b, c); !out.TimedOut {
				e.Errorf("got %+v", out)
			}
		})
	}},
	{"closing the guest kills attached execs", func(e *env) {
		b := e.create()
		exec := e.inFlight(b, e.script(ticking))
		e.wantGrowing(b, tickFiles...)
		b.Close()
		e.promptly("exec", func() { e.wantKind("exec", exec(), manager.KindLost) })
		e.wantStill(e.open(b), tickFiles...)
	}},
	{"open kills execs of the connection before it", func(e *env) {
		b := e.create()
		exec := e.inFlight(b, e.script(ticking))
		e.wantGrowing(b, tickFiles...)
		again := e.open(b)
		e.wantStill(again, tickFiles...)
		e.promptly("exec", func() { e.wantKind("exec", exec(), manager.KindLost) })
	}},
}

func discard(schemas.Stream, []byte) error { return nil }

type blockedReader struct{ ctx context.Context }

func (r blockedReader) Read([]byte) (int, error) {
	<-r.ctx.Done()
	return 0, r.ctx.Err()
}

// inFlight runs a command beside the subtest, once it has begun. The function it
// returns waits for Exec's error.
func (e *env) inFlight(b *box, c manager.Command) (wait func() error) {
	e.Helper()
	script := c.Argv[len(c.Argv)-1]
	c.Argv[len(c.Argv)-1] = "echo begun; " + script
	begun, done := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := b.Exec(e.ctx, c, func(schemas.Stream, []byte) error {
			select {
			case begun <- struct{}{}:
			default:
			}
			return nil
		})
		done <- err
	}()
	select {
	case <-begun:
	case err := <-done:
		e.Fatalf("exec ended early: %v", err)
	case <-time.After(prompt):
		e.Fatal("exec has not begun")
	}
	return func() error { return <-done }
}

// wantGrowing waits until each file has grown past what it is now.
func (e *env) wantGrowing(b *box, files ...string) {
	e.Helper()
	for _, name := range files {
		before := e.size(b, name)
		e.eventually(name+" grows", func() (any, bool) {
			n := e.size(b, name)
			return n, n > before
		})
	}
}

// wantStill checks that files which would grow every 50 ms do not. That takes
// time to see, and there is no event to poll for.
func (e *env) wantStill(b *box, files ...string) {
	e.Helper()
	if before, after := e.growth(b, files); !slices.Equal(before, after) {
		e.Errorf("%v still grow: %d bytes, then %d", files, before, after)
	}
}

// wantStopping is wantStill for what is still being killed when its caller, who
// has given it up, has the answer.
func (e *env) wantStopping(b *box, files ...string) {
	e.Helper()
	var before, after []int64
	for deadline := time.Now().Add(prompt); time.Now().Before(deadline); {
		if before, after = e.growth(b, files); slices.Equal(before, after) {
			return
		}
	}
	e.Errorf("%v still grow: %d bytes, then %d", files, before, after)
}

// growth is the sizes of files now and in half a second.
func (e *env) growth(b *box, files []string) (before, after []int64) {
	e.Helper()
	sizes := func() (sizes []int64) {
		for _, name := range files {
			sizes = append(sizes, e.size(b, name))
		}
		return sizes
	}
	before = sizes()
	e.sh(b, "sleep 0.5")
	return before, sizes()
}

// size of a file, -1 when it is not there.
func (e *env) size(b *box, name string) int64 {
	e.Helper()
	info, err := b.Stat(e.ctx, name)
	if err != nil {
		e.wantKind("stat "+name, err, manager.KindNotFound)
		return -1
	}
	return info.Size
}
