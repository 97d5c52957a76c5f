package backendtest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

var execChecks = []check{
	{"exit codes are the shell's", func(e *env) {
		b := e.box()
		e.write(b, "/workspace/plain", "no program")
		for _, c := range []struct {
			argv   []string
			code   int
			signal string
		}{
			{argv: []string{"true"}},
			{argv: []string{"false"}, code: 1},
			{argv: []string{"/bin/sh", "-c", "exit 7"}, code: 7},
			{argv: []string{"/bin/sh", "-c", "exit 137"}, code: 137},
			{argv: []string{"no-such-program"}, code: 127},
			{argv: []string{"/workspace/no-such-program"}, code: 127},
			{argv: []string{"/workspace"}, code: 126},
			{argv: []string{"/workspace/plain"}, code: 126},
			{argv: []string{"/bin/sh", "-c", "kill -9 $$"}, code: 137, signal: "SIGKILL"},
			{argv: []string{"/bin/sh", "-c", "kill -TERM $$"}, code: 143, signal: "SIGTERM"},
		} {
			out := e.must(b, e.command(c.argv...))
			if out.Code != c.code || out.Signal != c.signal || out.TimedOut || out.OOMKilled || out.stdout != "" {
				e.Errorf("%q: %+v", c.argv, out)
			}
		}
	}},
	{"streams stay apart", func(e *env) {
		out := e.must(e.box(), e.script("echo o; echo e >&2; exit 3"))
		if out.stdout != "o\n" || out.stderr != "e\n" || out.Code != 3 || out.StdoutBytes != 2 || out.StderrBytes != 2 {
			e.Errorf("got %+v", out)
		}
	}},
	{"output is bytes", func(e *env) {
		if out := e.must(e.box(), e.command("printf", `a\000b\377\n\r`)); out.stdout != "a\x00b\xff\n\r" {
			e.Errorf("got %q", out.stdout)
		}
	}},
	{"no output is lost at the end", func(e *env) {
		b := e.box()
		for range 30 {
			if out := e.must(b, e.command("printf", "tail-without-newline")); out.stdout != "tail-without-newline" {
				e.Fatalf("got %q", out.stdout)
			}
		}
	}},
	{"argv is taken as it is", func(e *env) {
		if out := e.must(e.box(), e.command("printf", "[%s]", "$HOME `id` *", "")); out.stdout != "[$HOME `id` *][]" && out.stdout != "[$HOME `id` *]" {
			e.Errorf("got %q", out.stdout)
		}
	}},
	{"environment is the command's own", func(e *env) {
		c := e.command("env")
		c.Env = append(slices.Clone(c.Env), "A=b c", "EMPTY=", "U=\xc3\xa9\nline", "Q='\"$x")
		out := e.must(e.box(), c)
		for _, want := range []string{"A=b c\n", "EMPTY=\n", "U=\xc3\xa9\nline\n", "Q='\"$x\n"} {
			if !strings.Contains(out.stdout, want) {
				e.Errorf("%q is missing in %q", want, out.stdout)
			}
		}
	}},
	{"working directory", func(e *env) {
		b := e.box()
		e.sh(b, "mkdir -p d/e; touch f")
		c := e.command("pwd")
		c.Dir = "/workspace/d/e"
		if out := e.must(b, c); out.stdout != "/workspace/d/e\n" {
			e.Errorf("got %q", out.stdout)
		}
		for _, dir := range []string{"/workspace/none", "/workspace/f"} {
			c.Dir = dir
			_, err := e.run(b, c)
			e.wantKind(dir, err, manager.KindInvalid)
		}
	}},
	{"no standard input is end of file", func(e *env) {
		b := e.box()
		e.promptly("cat", func() {
			if out := e.must(b, e.command("cat")); out.stdout != "" || out.Code != 0 {
				e.Errorf("got %+v", out)
			}
		})
	}},
	{"standard input arrives whole", func(e *env) {
		b := e.box()
		for _, size := range []int{0, 1, 65536, 3_000_000} {
			c := e.command("wc", "-c")
			c.Stdin = bytes.NewReader(make([]byte, size))
			if out := e.must(b, c); strings.TrimSpace(out.stdout) != fmt.Sprint(size) {
				e.Errorf("%d bytes: got %q", size, out.stdout)
			}
		}
		c, text := e.command("cat"), strings.Repeat("\x00\xffab\n", 200_000)
		c.Stdin = strings.NewReader(text)
		if out := e.must(b, c); out.stdout != text {
			e.Errorf("cat gives %d bytes of %d", len(out.stdout), len(text))
		}
	}},
	{"a command may ignore its input", func(e *env) {
		b := e.box()
		r, w := io.Pipe() // never written
		defer w.Close()
		for _, in := range []io.Reader{zeros{}, r} {
			c := e.command("true")
			c.Stdin = in
			e.promptly("true", func() {
				if out := e.must(b, c); out.Code != 0 {
					e.Errorf("got %+v", out)
				}
			})
		}
	}},
	{"background children do not hold up the result", func(e *env) {
		b := e.box()
		e.promptly("exec", func() {
			if got := e.sh(b, "sleep 100 & echo ok"); got != "ok\n" {
				e.Errorf("got %q", got)
			}
		})
	}},
	{"background children live on", func(e *env) {
		b := e.box()
		e.sh(b, "(sleep 0.3; echo alive > late) &")
		e.eventually("late file", func() (any, bool) {
			info, err := b.Stat(e.ctx, "/workspace/late")
			return err, err == nil && info.Size == 6
		})
	}},
	{"concurrent execs are independent", func(e *env) {
		b := e.box()
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				out, err := e.run(b, e.script(fmt.Sprintf("echo %d; sleep 0.1; echo %d >&2; exit %d", i, i, i)))
				want := fmt.Sprintln(i)
				if err != nil || out.stdout != want || out.stderr != want || out.Code != i {
					e.Errorf("%d: %+v, %v", i, out, err)
				}
			})
		}
		wg.Wait()
	}},
	{"duration is the command's", func(e *env) {
		if out := e.must(e.box(), e.command("sleep", "0.2")); out.Duration < 200*time.Millisecond || out.Duration > prompt {
			e.Errorf("got %s", out.Duration)
		}
	}},
}
