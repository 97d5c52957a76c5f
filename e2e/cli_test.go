package e2e

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCLI: a person's commands, in each of the ways to a server.
func TestCLI(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func(*testing.T) *person{"at a URL": atURL, "near a server": nearServer, "without a server": withoutServer} {
		t.Run(name, func(t *testing.T) {
			p := way(t)
			runCases(t, p, []testCase[*person]{
				{"life", cliLife},
				{"B exit codes and streams", cliExec},
				{"D1 D2 bytes", cliBytes},
				{"B13 reader that goes", cliReaderGoes},
				{"B13 Ctrl-C", cliInterrupt},
				{"F copies", cliCopy},
				{"background", cliBackground},
				{"terminal", cliShell},
			})
		})
	}
}

func cliLife(p *person) {
	id := p.run("create", "--name=life", "--timeout=1h").word()
	p.run("ls", "-q").is(0, id+"\n")
	p.run("exec", "life", "echo old > f").is(0, "")
	snap := p.run("snapshot", id[:12], "--name=before").word()
	p.run("exec", id, "echo new > f").is(0, "")
	p.run("rollback", "life", "before").is(0, id+"\n")
	p.run("exec", id, "cat f").is(0, "old\n")
	forks := strings.Fields(p.run("fork", snap, "-n", "2").stdout)
	for _, f := range forks {
		p.run("exec", f, "cat f").is(0, "old\n")
	}
	if r := p.run("timeout", id, "2h"); r.code != 0 || !strings.HasPrefix(r.stdout, id+" expires at ") {
		r.t.Errorf("code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	p.run(append([]string{"rm", id, snap}, forks...)...).is(0, "")
	p.run("ls", "-q").is(0, "")
	p.run("ls", "-sq").is(0, "")
	p.run("exec", id, "true").is(125, "")
}

func cliExec(p *person) {
	id := p.run("create").word()
	defer func() { p.run("rm", id).is(0, "") }()
	r := p.run("exec", "-w", "/tmp", "-e", "A=b", id, `pwd; echo "$A"; echo err >&2; exit 7`)
	if r.is(7, "/tmp\nb\n"); r.stderr != "err\n" {
		r.t.Errorf("standard error is %q", r.stderr)
	}
	p.run("exec", id, "--", "echo", "a; echo b").is(0, "a; echo b\n")
	p.run("exec", id, "no-such-program").is(127, "")
	p.run("exec", id, "kill -9 $$").is(137, "")
	if r := p.run("exec", "--timeout=500ms", id, "echo a; sleep 60"); true {
		if r.is(124, "a\n"); !strings.Contains(r.stderr, "ran out of time") {
			r.t.Errorf("standard error is %q", r.stderr)
		}
	}
	p.run("exec", "-w", "nowhere", id, "true").is(125, "")
	live := p.begin("first", "exec", id, "echo first; while ! [ -e go ]; do sleep 0.05; done; echo second")
	p.run("exec", id, "touch go").is(0, "")
	live.end().is(0, "second\n")
}

// cliBytes: ten million bytes of all kinds, out by a pipe and in by another.
func cliBytes(p *person) {
	id := p.run("create").word()
	defer func() { p.run("rm", id).is(0, "") }()
	data := make([]byte, 10<<20)
	rand.NewChaCha8([32]byte{}).Read(data)
	p.feed(string(data), "cp", "-", id+":data").is(0, "")
	out := p.run("exec", id, "cat data")
	if out.code != 0 || sha256.Sum256([]byte(out.stdout)) != sha256.Sum256(data) {
		p.t.Errorf("code %d, %d bytes, others than were sent; %q", out.code, len(out.stdout), out.stderr)
	}
	part := data[:1<<20]
	p.feed(string(part), "exec", "-i", id, "cat").is(0, string(part))
}

// cliReaderGoes: what nobody reads any more is killed, and nothing hangs.
func cliReaderGoes(p *person) {
	id := p.run("create").word()
	defer func() { p.run("rm", id).is(0, "") }()
	cmd := p.command("exec", id, "echo $$ > pid; exec yes")
	r, w, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		p.t.Error(err)
	}
	r.Close()
	if code := codeOf(p.t, cmd.Wait()); code != 141 || stderr.Len() > 0 {
		p.t.Errorf("code %d, %q", code, stderr.String())
	}
	p.gone(id)
}

// gone waits until the command that wrote its process ID has ended.
func (p *person) gone(id string) {
	p.t.Helper()
	eventually(p.t, 20*time.Second, "the command is killed", func() (bool, any) {
		r := p.run("exec", id, "! kill -0 $(cat pid)")
		return r.code == 0, r
	})
}

func cliInterrupt(p *person) {
	id := p.run("create").word()
	defer func() { p.run("rm", id).is(0, "") }()
	for s, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		l := p.begin("begun", "exec", id, "echo $$ > pid; echo begun; sleep 600")
		l.Process.Signal(s)
		if r := l.end(); r.code != code || r.stderr != "" {
			p.t.Errorf("%v: code %d, %q", s, r.code, r.stderr)
		}
		p.gone(id)
	}
}

func cliCopy(p *person) {
	id := p.run("create").word()
	defer func() { p.run("rm", id).is(0, "") }()
	dir := p.t.TempDir()
	src := filepath.Join(dir, "src")
	for name, mode := range map[string]os.FileMode{"run.sh": 0o755, "sub/data": 0o600} {
		path := filepath.Join(src, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("echo "+name), mode); err != nil {
			p.t.Fatal(err)
		}
	}
	p.run("cp", src, id+":").is(0, "")
	p.run("exec", id, "./src/run.sh; stat -c %a src/sub/data").is(0, "run.sh\n600\n")
	p.run("cp", id+":src", filepath.Join(dir, "back")).is(0, "")
	for _, name := range []string{"run.sh", "sub/data"} {
		want, _ := os.Stat(filepath.Join(src, name))
		got, err := os.Stat(filepath.Join(dir, "back", name))
		if err != nil || got.Mode() != want.Mode() || !got.ModTime().Equal(want.ModTime()) {
			p.t.Errorf("%s: %v; %v", name, err, got)
		}
	}
	p.run("exec", id, "ln -s /etc/passwd src/evil").is(0, "")
	if r := p.run("cp", id+":src", filepath.Join(dir, "again")); r.code != 1 || !strings.Contains(r.stderr, "evil: it is a link that leads outside") {
		p.t.Errorf("code %d, %q", r.code, r.stderr)
	}
}

func cliBackground(p *person) {
	id := p.run("create").word()
	defer func() { p.run("rm", id).is(0, "") }()
	job := p.run("exec", "-d", id, "echo a; sleep 1; echo b; exit 5").word()
	p.run("logs", "-f", id, job).is(5, "a\nb\n")
	endless := p.run("exec", "-d", id, "sleep 600").word()
	p.run("kill", id, endless).is(0, "")
	p.run("logs", "-f", id, endless).is(137, "")
}

// TestCLITogether: commands that find no server share the one that one of them is.
func TestCLITogether(t *testing.T) {
	t.Parallel()
	p := withoutServer(t)
	id := p.run("create").word()
	first := p.begin("one", "exec", id, "echo one; while ! [ -e go ]; do sleep 0.05; done")
	second := p.begin("two", "exec", id, "-v", "echo two; while ! [ -e end ]; do sleep 0.05; done; echo done")
	if !strings.Contains(second.stderr.String(), "using the server of process") {
		t.Errorf("the second says %q", second.stderr.String())
	}
	p.run("exec", id, "touch go").is(0, "")
	// The first has done its work. It goes on for the second, and for a third.
	eventually(t, 20*time.Second, "the first waits for the second", func() (bool, any) {
		text := first.stderr.String()
		return strings.Contains(text, "done; waiting for other commands"), text
	})
	p.run("exec", id, "touch end").is(0, "")
	second.end().is(0, "done\n")
	first.end().is(0, "")
	p.run("exec", id, "echo alone").is(0, "alone\n")
}

// TestCLIServerIsKilled: who loses its server is told, and nothing is run twice.
func TestCLIServerIsKilled(t *testing.T) {
	t.Parallel()
	p := withoutServer(t)
	id := p.run("create").word()
	first := p.begin("one", "exec", id, "echo one; sleep 600")
	second := p.begin("two", "exec", id, "echo two | tee -a runs; sleep 600")
	first.Process.Kill()
	first.end()
	if r := second.end(); r.code != 125 || !strings.Contains(r.stderr, "was lost while the command ran") || !strings.Contains(r.stderr, "\nhint: ") {
		t.Errorf("code %d, %q", r.code, r.stderr)
	}
	p.run("exec", id, "cat runs").is(0, "two\n")
}
