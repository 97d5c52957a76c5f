package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestStdin: what a command reads, and that it has no terminal.
func TestStdin(t *testing.T) {
	t.Parallel()
	s := start(t)
	runCases(t, s.create(), stdinCases)
	t.Run("C1 interpreters", func(t *testing.T) {
		b := s.in(t).create(args{"image": base})
		took(t, 5*time.Second, "python3 without input", func() { b.must("python3") })
		took(t, 5*time.Second, "git commit without input", func() {
			b.sh("git init -q . && GIT_EDITOR=cat git -c user.name=x -c user.email=x@x commit --allow-empty")
		})
	})
}

// stdinCases hold at every door.
var stdinCases = []testCase[*sandbox]{
	{"C1 no standard input", noStdin},
	{"C2 the end of standard input arrives", stdinEnds},
	{"C2 input that nobody reads", stdinIgnored},
	{"C4 no terminal", noTerminal},
}

func noStdin(b *sandbox) {
	took(b.t, 3*time.Second, "reading nothing", func() {
		if out := b.must("read x; echo got:$x; cat; wc -c"); out != "got:\n0\n" {
			b.t.Errorf("got %q", out)
		}
	})
}

func stdinEnds(b *sandbox) {
	for _, n := range []int{0, 1, 65536, 5_000_000} {
		r := b.sh("wc -c", args{"stdin": strings.Repeat("x", n)})
		if strings.TrimSpace(r.Stdout) != fmt.Sprint(n) {
			b.t.Errorf("%d bytes: wc says %q", n, r.Stdout)
		}
	}
	random := make([]byte, 130_000)
	rand.Read(random)
	text := base64.StdEncoding.EncodeToString(random)
	repeat(b.t, count(8, 50), 4, func(int) error {
		r, err := b.trySh("cat", args{"stdin_base64": text, "encoding": "base64", "max_output_bytes": 200_000})
		if err != nil || r.Stdout != text {
			return fmt.Errorf("cat: %d of %d characters, truncated %t, %v", len(r.Stdout), len(text), r.Truncated, err)
		}
		return nil
	})
}

func stdinIgnored(b *sandbox) {
	took(b.t, 3*time.Second, "a command that ignores its input", func() {
		if out := b.must("echo done", args{"stdin": strings.Repeat("y", 1<<20)}); out != "done\n" {
			b.t.Errorf("got %q", out)
		}
	})
}

func noTerminal(b *sandbox) {
	out := b.must(`test -t 0; echo $?; test -t 1; echo $?; test -t 2; echo $?; printf 'a\n' | od -c | head -n 1`)
	if want := "1\n1\n1\n0000000   a  \\n\n"; out != want {
		b.t.Errorf("got %q, want %q", out, want)
	}
}
