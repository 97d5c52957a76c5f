package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestExec: output, exit status, streaming.
func TestExec(t *testing.T) {
	t.Parallel()
	s := start(t)
	runCases(t, s.create(), append([]testCase[*sandbox]{
		{"A15 silent command", silentCommand},
	}, execCases...))
}

// execCases hold at every door.
var execCases = []testCase[*sandbox]{
	{"A1 trivial output is never empty", trivialOutput},
	{"A2 both streams are complete", bothStreams},
	{"A3 tail without newline", tailWithoutNewline},
	{"A5 exit code is never lost", exitCodes},
	{"A6 background child holds the pipe", backgroundChild},
	{"A7 output before a background child", outputBeforeChild},
	{"A9 what cannot be run", cannotRun},
	{"A10 failed runs leak nothing", noLeak},
	{"A12 never run twice", neverTwice},
	{"A13 no noise of ours", noNoise},
	{"A14 status and streams", statusAndStreams},
	{"A16 output over the cap in parallel", overCapInParallel},
	{"A17 cap is exact", capIsExact},
	{"A18 busy sandbox", busySandbox},
	{"A8 container dies under a command", containerDies},
}

// TestA19Churn: sandboxes come and go.
func TestA19Churn(t *testing.T) {
	t.Parallel()
	s := start(t)
	repeat(t, count(8, 300), 3, func(int) error {
		began := time.Now()
		b := s.create()
		if r := b.sh("echo hi"); r.Stdout != "hi\n" {
			return fmt.Errorf("echo hi: got %+v", r)
		}
		if err := s.destroy(b.ID); err != nil {
			return err
		}
		if took := time.Since(began); took > 30*time.Second {
			return fmt.Errorf("create, exec and destroy took %v", took)
		}
		return nil
	})
}

func trivialOutput(b *sandbox) {
	repeat(b.t, count(80, 500), 8, func(i int) error {
		r, err := b.trySh("echo running")
		if err != nil || r.Stdout != "running\n" || r.ExitCode != 0 {
			return fmt.Errorf("run %d: %+v, %v", i, r, err)
		}
		return nil
	})
	repeat(b.t, count(20, 500), 8, func(i int) error {
		r, err := b.Live(ctx(b.t), args{"sandbox_id": b.ID, "command": "echo running"}, func(string) {})
		if err != nil || r.Stdout != "running\n" {
			return fmt.Errorf("run %d, live: %+v, %v", i, r, err)
		}
		return nil
	})
}

// lines is what seq prints.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

func bothStreams(b *sandbox) {
	stdout, stderr := lines(25000), lines(8000)
	repeat(b.t, count(15, 200), 4, func(i int) error {
		r, err := b.trySh("seq 25000 & seq 8000 >&2; wait", args{"max_output_bytes": 190_000})
		switch {
		case err != nil:
			return err
		case r.StdoutBytes != int64(len(stdout)) || r.StderrBytes != int64(len(stderr)):
			return fmt.Errorf("run %d: %d and %d bytes, want %d and %d", i, r.StdoutBytes, r.StderrBytes, len(stdout), len(stderr))
		case r.Stdout != stdout || r.Stderr != stderr:
			return fmt.Errorf("run %d: the bytes differ (%d, %d), truncated %t", i, len(r.Stdout), len(r.Stderr), r.Truncated)
		}
		return nil
	})
}

func tailWithoutNewline(b *sandbox) {
	repeat(b.t, count(30, 300), 4, func(i int) error {
		r, err := b.trySh("printf tail-without-newline; printf b >&2")
		if err != nil || r.Stdout != "tail-without-newline" || r.Stderr != "b" {
			return fmt.Errorf("run %d: %+v, %v", i, r, err)
		}
		return nil
	})
}

func exitCodes(b *sandbox) {
	repeat(b.t, count(40, 600), 8, func(i int) error {
		command, want, signal := "exit 7", 7, ""
		if i%2 == 0 {
			command, want, signal = "kill -9 $$", 137, "SIGKILL"
		}
		r, err := b.trySh(command)
		if err != nil || r.ExitCode != want || signalOf(r) != signal || r.TimedOut || r.OOMKilled {
			return fmt.Errorf("%s: %+v, %v", command, r, err)
		}
		return nil
	})
}

func signalOf(r schemas.ExecResult) string {
	if r.Signal == nil {
		return ""
	}
	return *r.Signal
}

func backgroundChild(b *sandbox) {
	took(b.t, 3*time.Second, "a command with a child in the background", func() {
		r := b.sh("sleep 300 & echo ok", args{"timeout_seconds": 30})
		if r.Stdout != "ok\n" || r.ExitCode != 0 || r.TimedOut {
			b.t.Errorf("got %+v", r)
		}
	})
	took(b.t, 2*time.Second, "the next command", func() { b.must("echo next") })
	// The rule: such a child goes on.
	if n := b.must("pidof sleep | wc -w"); strings.TrimSpace(n) != "1" {
		b.t.Errorf("%s children are left, want 1", n)
	}
	b.must("killall sleep")
}

func outputBeforeChild(b *sandbox) {
	took(b.t, 6*time.Second, "3 MB and a child that holds the pipe", func() {
		r := b.sh("head -c 3000000 /dev/zero; sleep 120 &", args{"timeout_seconds": 60})
		if r.StdoutBytes != 3_000_000 || r.ExitCode != 0 || !r.StdoutTruncated {
			b.t.Errorf("got %d bytes, exit code %d, truncated %t", r.StdoutBytes, r.ExitCode, r.StdoutTruncated)
		}
	})
	b.must("killall sleep")
}

func cannotRun(b *sandbox) {
	b.must(`printf 'echo x\n' > plain; chmod 644 plain; printf '#!/no/such\n' > shebang; chmod 755 shebang`)
	for _, c := range []struct {
		argv []string
		want int
	}{
		{[]string{"no-such-bin"}, 127},
		{[]string{"cd", "/"}, 127},
		{[]string{"/workspace"}, 126},
		{[]string{"/workspace/plain"}, 126},
		{[]string{"/workspace/shebang"}, 126}, // as bash has it; dash says 127
		{[]string{"/no/such/dir/bin"}, 127},
		{[]string{""}, 127},
	} {
		r, err := try[schemas.ExecResult](b.server, "exec", args{"sandbox_id": b.ID, "argv": c.argv})
		if err != nil && client.Code(err) != string(schemas.CodeInvalidRequest) {
			b.t.Errorf("%q: %v", c.argv, err)
		}
		if err == nil && (r.ExitCode != c.want || r.Stdout != "" || r.Stderr == "") {
			b.t.Errorf("%q: exit code %d, want %d; stdout %q, stderr %q", c.argv, r.ExitCode, c.want, r.Stdout, r.Stderr)
		}
	}
}

func noLeak(b *sandbox) {
	b.sh("true")
	before := openFiles(b.server)
	repeat(b.t, count(60, 600), 4, func(i int) error {
		_, err := b.trySh([]string{"no-such-bin", "true"}[i%2])
		return err
	})
	eventually(b.t, 10*time.Second, "as many open files as before", func() (bool, any) {
		now := openFiles(b.server)
		return now <= before+5, fmt.Sprintf("%d, before %d", now, before)
	})
	if ids := b.mustDocker("inspect", "-f", "{{.ExecIDs}}", b.containerOf(string(b.ID))); ids != "[]" && ids != "<no value>" {
		b.t.Errorf("docker execs are left: %s", ids)
	}
}

func openFiles(s *server) int {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.Pid()))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(all)
}

func neverTwice(b *sandbox) {
	n := count(40, 200)
	repeat(b.t, n, 8, func(i int) error {
		limit := time.Minute
		if i%4 == 0 {
			limit = time.Duration(i) * time.Millisecond
		}
		c, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_, err := b.shContext(c, fmt.Sprintf("echo %d >> n", i))
		if i%4 != 0 {
			return err
		}
		return nil // given up by the client, on purpose
	})
	out := b.must("sort n | uniq -d | wc -l; sort -u n | wc -l")
	var twice, lines int
	fmt.Sscan(out, &twice, &lines)
	if twice != 0 || lines > n || lines < n*3/4 {
		b.t.Errorf("%d ran twice, %d of %d ran", twice, lines, n)
	}
}
