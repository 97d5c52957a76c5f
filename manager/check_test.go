package manager

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Odd things in an image's environment spoil no command.
func TestEnviron(t *testing.T) {
	image := []string{"A=1", "=odd", "NOEQUALS", "", "A=2", "HOME=/root", "nul=\x00", "dotted.name=x", "LONG=" + strings.Repeat("x", maxArg)}
	got := environ(image, map[string]string{"B": "sandbox", "C": "sandbox"}, map[string]string{"C": "call"})
	want := []string{"A=2", "B=sandbox", "C=call", "HOME=/workspace", "PATH=" + defaultPath, "dotted.name=x"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := environ([]string{"PATH=/x"}, nil, map[string]string{"HOME": "/tmp"}); !cmp.Equal(got, []string{"HOME=/tmp", "PATH=/x"}) {
		t.Errorf("%q", got)
	}
}

func TestImageAllowed(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	cases := []struct {
		globs string
		image string
		want  bool
	}{
		{"*", "anything/at:all", true},
		{"python", "python:3.12", true},
		{"python:3.12", "python:3.12", true},
		{"python:3.12", "docker.io/library/python:3.12", true},
		{"docker.io/library/python:3.12", "python:3.12", true},
		{"python:latest", "python", true},
		{"python:3.12", "python:3.13", false},
		{"python:3.12*", "python:3.12-slim", true},
		{"python:3.1?", "python:3.12", true},
		{"python:3.12", "evil/python:3.12", false},
		{"python:3.12", "evil.io/library/python:3.12", false},
		{"python:3.12", "pythonx3.12", false},
		{"ghcr.io/good/*", "ghcr.io/good/deep/image:1", true},
		{"ghcr.io/good/*", "ghcr.io/goods/image:1", false},
		{"python:3.12*", "python:3.12" + digest, false}, // the digest decides, whatever the tag says
		{"python" + digest, "python:3.12" + digest, true},
		{"python@*", "python" + digest, true},
		{" busybox , python:* ", "python:3.12", true},
		{"", "python", false},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s by %s", c.image, c.globs), func(t *testing.T) {
			m := &Manager{cfg: Config{AllowedImages: strings.Split(c.globs, ",")}}
			if err := m.checkImage(c.image); (err == nil) != c.want {
				t.Errorf("error is %v", err)
			}
		})
	}
}
