package backendtest

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var outputChecks = []check{
	{"large output arrives whole", func(e *env) {
		out := e.must(e.box(), e.script("head -c 8000000 /dev/zero; head -c 3000000 /dev/zero >&2"))
		if len(out.stdout) != 8_000_000 || len(out.stderr) != 3_000_000 || out.StdoutBytes != 8_000_000 || out.StderrBytes != 3_000_000 {
			e.Errorf("got %d and %d bytes; counted %d and %d", len(out.stdout), len(out.stderr), out.StdoutBytes, out.StderrBytes)
		}
	}},
	{"large output arrives whole though a child holds the pipe", func(e *env) {
		b := e.box()
		e.promptly("exec", func() {
			if out := e.must(b, e.script("head -c 3000000 /dev/zero; sleep 100 &")); len(out.stdout) != 3_000_000 {
				e.Errorf("got %d bytes", len(out.stdout))
			}
		})
	}},
	{"caps are exact, and the rest is counted", func(e *env) {
		b := e.box()
		for _, c := range []struct{ limit, size, want int64 }{
			{10, 9, 9}, {10, 10, 10}, {10, 11, 10}, {0, 5, 0}, {100_000, 5_000_000, 100_000},
		} {
			cmd := e.script(fmt.Sprintf("head -c %d /dev/zero; head -c %d /dev/zero >&2; exit 4", c.size, c.size))
			cmd.MaxStdout = c.limit
			out := e.must(b, cmd)
			if int64(len(out.stdout)) != c.want || out.StdoutBytes != c.size || out.Code != 4 {
				e.Errorf("%+v: got %d bytes, counted %d, exit %d", c, len(out.stdout), out.StdoutBytes, out.Code)
			}
			if int64(len(out.stderr)) != c.size || out.StderrBytes != c.size {
				e.Errorf("%+v: standard error, which has no cap: got %d, counted %d", c, len(out.stderr), out.StderrBytes)
			}
		}
	}},
	{"caps hold for many small writes", func(e *env) {
		cmd := e.script(strings.Repeat("printf ab; ", 10))
		cmd.MaxStdout = 5
		if out := e.must(e.box(), cmd); out.stdout != "ababa" || out.StdoutBytes != 20 {
			e.Errorf("got %q, counted %d", out.stdout, out.StdoutBytes)
		}
	}},
	{"output comes as it is made", func(e *env) {
		b := e.box()
		r := make(chan string, 16)
		done := make(chan error, 1)
		go func() {
			_, err := b.Exec(e.ctx, e.script("echo first; while :; do if test -e go; then echo second; exit; fi; sleep 0.02; done"), func(_ schemas.Stream, chunk []byte) error {
				r <- string(chunk)
				return nil
			})
			done <- err
		}()
		if got := <-r; got != "first\n" {
			e.Errorf("got %q", got)
		}
		e.write(b, "/workspace/go", "")
		if err := <-done; err != nil {
			e.Errorf("exec: %v", err)
		}
		if got := <-r; got != "second\n" {
			e.Errorf("got %q", got)
		}
	}},
	{"a blocked emit slows the command, loses nothing, and blocks nobody else", backPressure},
}

const flood = 48 << 20 // more than all the buffers on the way

func backPressure(e *env) {
	b := e.box()
	var got, calls atomic.Int64
	release, blocked, done := make(chan struct{}), make(chan struct{}, 1), make(chan error, 1)
	go func() {
		_, err := b.Exec(e.ctx, e.script(fmt.Sprintf("head -c %d /dev/zero; echo x > finished", flood)), func(_ schemas.Stream, chunk []byte) error {
			if calls.Add(1) == 1 {
				blocked <- struct{}{}
				<-release
			}
			got.Add(int64(len(chunk)))
			return nil
		})
		done <- err
	}()
	<-blocked
	e.promptly("other calls", func() {
		for range 5 {
			if out := e.must(b, e.script("head -c 2000000 /dev/zero")); len(out.stdout) != 2_000_000 {
				e.Errorf("another exec got %d bytes", len(out.stdout))
			}
		}
		_, err := b.Stat(e.ctx, "/workspace/finished")
		e.wantKind("stat of what the slowed command would write", err, manager.KindNotFound)
	})
	close(release)
	if err := <-done; err != nil || got.Load() != flood {
		e.Errorf("got %d bytes of %d, %v", got.Load(), flood, err)
	}
	if text := e.read(b, "/workspace/finished"); text != "x\n" {
		e.Errorf("the command ended with %q", text)
	}
}

// lines are without the last one's end.
func lines(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }
