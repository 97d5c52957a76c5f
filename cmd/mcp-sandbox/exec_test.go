package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestExec(t *testing.T) {
	u := newUser(t)
	id := u.run("create").id()
	o := u.run("exec", id, `echo out; echo err >&2; exit 3`)
	if o.code != 3 || o.stdout != "out\n" || o.stderr != "err\n" {
		t.Errorf("%d, %q, %q", o.code, o.stdout, o.stderr)
	}
	// One argument is a line for the shell, more are a program's, and so is one after --.
	u.run("exec", id, "echo a; echo b").says("a\nb\n")
	u.run("exec", id, "echo", "a; echo b", "-w", "--").says("a; echo b -w --\n")
	u.run("exec", id, "--", "echo", "--", "x").says("-- x\n")
	u.run("exec", id, "--", "pwd").says("/workspace\n")
	if o := u.run("exec", id, "--", "echo a; echo b"); o.code != 127 {
		t.Errorf("code %d, %q", o.code, o.stderr)
	}
	u.run("exec", "-w", "/tmp", "-e", "A=1", id, "-e", "B=2", `pwd; echo "$A$B"`).says("/tmp\n12\n")
	u.feed("a\xff\x00b", "exec", "-i", id, "cat").says("a\xff\x00b")
	u.feed("lost", "exec", id, "cat").says("")
	u.run("exec", "-w", "nowhere", id, "true").fails(125, "nowhere")
	u.run("exec", "sb_0123456789abcdef", "true").fails(125, "no sandbox")
	u.feed(strings.Repeat("x", maxInput), "exec", "-i", id, "wc -c").says("6291456\n")
	u.feed(strings.Repeat("x", maxInput+1), "exec", "-i", id, "true").fails(125, "standard input is larger than 6291456 bytes")
	u.run("exec", id, "--timeout=0.2", "echo a; sleep 60").timesOut(t, "a\n")
	u.run("exec", id, "-ojson", "--timeout=200ms", "sleep 60").code124(t)
	r := u.run("exec", id, "-ojson", "echo a; exit 7")
	if r.code != 7 || r.stderr != "" {
		t.Errorf("code %d, %q", r.code, r.stderr)
	}
	r.code = 0
	if v := decoded[schemas.ExecResult](r); v.Stdout != "a\n" || v.ExitCode != 7 {
		t.Errorf("got %+v", v)
	}
}

func (o outcome) timesOut(t *testing.T, stdout string) {
	t.Helper()
	if o.code != 124 || o.stdout != stdout || !strings.HasPrefix(o.stderr, "mcp-sandbox: the command ran out of time after 200ms") {
		t.Errorf("code %d, %q, %q", o.code, o.stdout, o.stderr)
	}
}

func (o outcome) code124(t *testing.T) {
	t.Helper()
	if o.code != 124 || !strings.Contains(o.stdout, `"timed_out":true`) || o.stderr != "" {
		t.Errorf("code %d, %q, %q", o.code, o.stdout, o.stderr)
	}
}

// Usage errors of exec have the code that no command has.
func TestExecUsage(t *testing.T) {
	u := newUser(t)
	for _, args := range [][]string{{"exec"}, {"exec", "x"}, {"exec", "--nonsense", "x", "y"}, {"exec", "x", "--timeout=-1", "y"}, {"exec", "x", "--timeout=never", "y"}, {"exec", "-e", "1=2", "x", "y"}, {"exec", "-e", "NO_SUCH_VARIABLE_HERE", "x", "y"}, {"exec", "x", "--"}} {
		u.run(args...).fails(125, "")
	}
	u.run("exec", "-e", "NO_SUCH_VARIABLE_HERE", "x", "y").fails(125, "--env: there is no variable NO_SUCH_VARIABLE_HERE here")
}

// What was not seen to its end is no success, and says so.
func TestExecThatIsCutOff(t *testing.T) {
	u := newUser(t)
	id := u.run("create").id()
	go func() {
		for u.fake.Calls(backendtest.OpExec) == 0 {
			time.Sleep(time.Millisecond)
		}
		u.run("rm", id)
	}()
	o := u.run("exec", id, "echo a; sleep 60")
	if o.code != 125 || o.stdout != "a\n" || !strings.Contains(o.stderr, "the sandbox was destroyed while the call was running") {
		t.Errorf("code %d, %q, %q", o.code, o.stdout, o.stderr)
	}
}

// A reader that has gone ends the command, quietly.
func TestReaderGone(t *testing.T) {
	u := newUser(t)
	id := u.run("create").id()
	var stderr strings.Builder
	code := run([]string{"exec", id, "yes"}, u.lookup, strings.NewReader(""), &shortReader{left: 10}, &stderr)
	if code != 141 || stderr.String() != "" {
		t.Errorf("code %d, %q", code, stderr.String())
	}
	if code := run([]string{"ls"}, u.lookup, strings.NewReader(""), fullDisk{}, &stderr); code != 1 || !strings.Contains(stderr.String(), "write output: ") {
		t.Errorf("code %d, %q", code, stderr.String())
	}
}

// shortReader is the other end of a pipe that head reads.
type shortReader struct{ left int }

func (s *shortReader) Write(b []byte) (int, error) {
	if s.left -= len(b); s.left < 0 {
		return 0, syscall.EPIPE
	}
	return len(b), nil
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// What runs in the background is watched, listed and killed by its ID.
func TestBackground(t *testing.T) {
	u := newUser(t)
	id := u.run("create", "--name=b").id()
	job := strings.TrimSuffix(u.run("exec", "-d", id, "cat; echo out; echo err >&2; sleep 0.3; echo late; exit 4").stdout, "\n")
	if !strings.HasPrefix(job, "ex_") {
		t.Fatalf("it printed %q", job)
	}
	if o := u.run("logs", "-f", "b", job[:9]); o.code != 4 || o.stdout != "out\nlate\n" || o.stderr != "err\n" {
		t.Errorf("code %d, %q, %q", o.code, o.stdout, o.stderr)
	}
	if o := u.run("logs", "b", job); o.code != 0 || o.stdout != "out\nlate\n" || o.stderr != "err\n" {
		t.Errorf("code %d, %q, %q", o.code, o.stdout, o.stderr)
	}
	o := u.run("logs", "-f", "b", job, "-ojson")
	if o.code != 4 || !strings.Contains(o.stdout, `"stdout":"out\nlate\n"`) {
		t.Errorf("code %d, %q, %q", o.code, o.stdout, o.stderr)
	}
	fed := strings.TrimSuffix(u.feed("\xff\x00", "exec", "-di", id, "cat").stdout, "\n")
	if o := u.run("logs", "-f", "b", fed); o.code != 0 || o.stdout != "\xff\x00" {
		t.Errorf("code %d, %q, %q", o.code, o.stdout, o.stderr)
	}
	endless := decoded[schemas.ExecState](u.run("exec", "-d", "-ojson", id, "sleep 60")).ExecID
	u.run("ps", "b").prints(t, `^ID +STATUS +EXIT CODE +AGE +COMMAND\n`+job+` +exited +4 +\d+s +.*cat; echo out.*\n`+fed+` .*\n`+string(endless)+` +running +- +`)
	u.run("kill", "b", string(endless)).says("")
	if o := u.run("logs", "-f", "b", string(endless)); o.code != 137 {
		t.Errorf("code %d, %q, %q", o.code, o.stdout, o.stderr)
	}
	u.run("kill", "-s", "HUP", "b", string(endless)).fails(1, "the command has ended")
	u.run("kill", "b", "ex_none").fails(1, "no background command of "+id+` has the ID "ex_none"`)
	u.run("logs", "b", "ex_0123456789abcdef").fails(125, "ex_0123456789abcdef")
}

// Hints name what there is at a command line, and in JSON what the API has.
func TestHintsNameCommands(t *testing.T) {
	u := newUser(t)
	id := u.run("create").id()
	ended := strings.TrimSuffix(u.run("exec", "-d", id, "true").stdout, "\n")
	u.run("logs", "-f", id, ended)
	for hint, args := range map[string][]string{
		"hint: Start longer work with -d: ":          {"exec", "--timeout=2h", id, "true"},
		"Leave --timeout out, ":                      {"exec", "-d", "--timeout=48h", id, "true"},
		"hint: mcp-sandbox ps shows how it ended.":   {"kill", "-s", "INT", id, ended},
		"Start longer work with background, or with": {"exec", "-ojson", "--timeout=2h", id, "true"},
	} {
		if o := u.run(args...); o.code == 0 || !strings.Contains(o.stderr, hint) {
			t.Errorf("%q: code %d, %q, want %q", args, o.code, o.stderr, hint)
		}
	}
}
