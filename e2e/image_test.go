package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestImage: ordinary images, and what they may not bring along.
func TestImage(t *testing.T) {
	t.Parallel()
	s := start(t)
	runCases(t, s, []testCase[*server]{
		{"F9 F10 any image works at once", anyImage},
		{"F9 files that the image has in the workspace", filesFromImage},
		{"declared volumes", declaredVolumes},
		{"J9 J10 missing, malformed and local images", badImages},
	})
}

func anyImage(s *server) {
	for _, image := range []string{busybox, "mcp-sandbox/test-workspace", "mcp-sandbox/test-volume", "mcp-sandbox/test-volume-workspace", base} {
		b := s.create(args{"image": image})
		if out := b.must("touch a; mkdir b; stat -c %u:%g . a b; touch /x 2>/dev/null || echo read-only"); out != "1000:1000\n1000:1000\n1000:1000\nread-only\n" {
			s.t.Errorf("%s: got %q", image, out)
		}
		check(s.t, s.destroy(b.ID))
	}
	b := s.create(args{"image": noShell})
	b.write("f", "content\n")
	r := call[schemas.ExecResult](s, "exec", args{"sandbox_id": b.ID, "argv": []string{"cat", "f"}})
	if r.Stdout != "content\n" || r.ExitCode != 0 {
		s.t.Errorf("%s: got %+v", noShell, r)
	}
	if r := b.sh("echo x"); r.ExitCode != 127 {
		s.t.Errorf("a shell command without a shell: %+v", r)
	}
}

func filesFromImage(s *server) {
	b := s.create(args{"image": "mcp-sandbox/test-workspace"})
	out := b.must("cat readme.txt link sub/private.txt; ./run.sh; echo more >> sub/deep/file.txt; rm sub/private.txt; stat -c '%u %a' run.sh readme.txt")
	if want := "from the image\ndeep\nprivate to root\nran\n1000 755\n1000 644\n"; out != want {
		s.t.Errorf("got %q, want %q", out, want)
	}
}

// declaredVolumes: an image's own volumes, entry point, user and health check
// do not count.
func declaredVolumes(s *server) {
	b := s.create(args{"image": "mcp-sandbox/test-volume"})
	if r := b.sh("touch /data/x /var/lib/x/y"); r.ExitCode == 0 {
		s.t.Error("a declared volume can be written")
	}
	if out := b.must(`id -u; pwd; echo $HOME; echo "$SPACES|$EQUALS|$DOLLAR|$QUOTES|$UNICODE|$TAB|${EMPTY-unset}"`); out !=
		"1000\n/workspace\n/workspace\na  b|a=b=c|$HOME|it's \"odd\"|naïve ☃|a\tb|\n" {
		s.t.Errorf("got %q", out)
	}
	i := b.inspect(string(b.ID))
	for _, m := range i.Mounts {
		if m.Type == "volume" && m.Destination != "/workspace" {
			s.t.Errorf("mounted: %+v", m)
		}
	}
	if health := mustDocker(s.t, "inspect", "-f", "{{if .State.Health}}{{.State.Health.Status}}{{end}}", s.containerOf(string(b.ID))); health != "" && health != "none" {
		s.t.Errorf("the image's health check runs: %s", health)
	}
}

func badImages(s *server) {
	for _, image := range []string{"Bad Image", "a:b:c", "UPPER/case", strings.Repeat("a", 300), "../x", "-x"} {
		s.refuse("sandbox_create", args{"image": image}, schemas.CodeInvalidRequest)
	}
	took(s.t, 45*time.Second, "an image that cannot be pulled", func() {
		err := s.refuse("sandbox_create", args{"image": "localhost:1/no/such:image"}, schemas.CodeInvalidRequest, schemas.CodeBackendError, schemas.CodeBackendUnavailable)
		if err != nil && !strings.Contains(err.Error(), "localhost:1/no/such:image") {
			s.t.Errorf("the message does not name it: %v", err)
		}
	})
	if left := s.list(); len(left) != 1 && len(left) > 4 {
		s.t.Errorf("listed: %+v", left)
	}
}
