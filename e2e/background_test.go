package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestBackground: commands that go on by themselves, through every door.
func TestBackground(t *testing.T) {
	t.Parallel()
	for _, door := range []client.Door{client.Stdio, client.Streamable, client.SSE, client.REST} {
		t.Run(string(door), func(t *testing.T) {
			s := startAt(t, door, "--max-exec-output-bytes=200000")
			runCases(t, s.create(), backgroundCases)
			alone(t, s, []testCase[*server]{
				{"a dev server, and all that ends it", devServer},
				{"expiry ends it", backgroundExpires},
			})
		})
	}
}

var backgroundCases = []testCase[*sandbox]{
	{"a hand-over loses nothing", handOver},
	{"no timeout but the one that is given", backgroundTimeout},
	{"a python REPL", pythonREPL},
	{"signals", backgroundSignals},
	{"kill takes all that it has started", backgroundKill},
	{"B12 unknown and foreign IDs", backgroundIDs},
	{"two pollers", twoPollers},
	{"polls race the end", pollsRaceTheEnd},
	{"what nobody came for in time", droppedOutput},
	{"forty of them", fortyExecs},
}

// job is a background command as a test sees it, whichever door it came through.
type job struct {
	b *sandbox
	schemas.ExecState
	Truncated bool
}

// launch starts a background command; more may say how.
func (b *sandbox) launch(command string, more ...args) *job {
	b.t.Helper()
	a := args{"sandbox_id": b.ID, "command": command}
	if len(more) == 0 {
		a["background"] = true
	}
	for _, m := range more {
		a = a.with(m)
	}
	j := &job{b: b}
	check(b.t, b.Call(ctx(b.t), "exec", a, j))
	if j.Status != schemas.ExecRunning || j.ExecID == "" || j.ExitCode != nil {
		b.t.Fatalf("exec %.200q: it does not go on: %+v", command, j)
	}
	return j
}

func (j *job) args() args { return args{"sandbox_id": j.b.ID, "exec_id": j.ExecID} }

// poll goes on from the last one.
func (j *job) poll(wait float64) *job {
	j.b.t.Helper()
	a := j.args().with(args{"cursor": j.Cursor, "wait_seconds": wait})
	next := &job{b: j.b}
	check(j.b.t, j.b.Call(ctx(j.b.t), "exec_poll", a, next))
	return next
}

// end polls to the end.
func (j *job) end() (stdout string, last *job) {
	j.b.t.Helper()
	for deadline := time.Now().Add(callLimit); ; {
		j = j.poll(10)
		stdout += j.Stdout
		if j.Status == schemas.ExecExited && !j.More {
			return stdout, j
		}
		if time.Now().After(deadline) {
			j.b.t.Fatalf("it does not end: %+v", j)
		}
	}
}

func (j *job) exitCode() int {
	if j.ExitCode == nil {
		return -1
	}
	return *j.ExitCode
}

func handOver(b *sandbox) {
	n := count(3, 20)
	for i := range n {
		const lines = 2000
		command := fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo é$i; i=$((i+1)); [ $((i%%20)) = 0 ] && usleep 10000; done; exit 5", lines)
		j := b.launch(command, args{"wait_seconds": 0.3 + float64(i)*0.01})
		text := j.Stdout
		rest, last := j.end()
		text += rest
		var want strings.Builder
		for i := range lines {
			fmt.Fprintf(&want, "é%d\n", i)
		}
		if text != want.String() || j.Stdout == "" || rest == "" || last.exitCode() != 5 || last.StdoutBytes != int64(want.Len()) || last.DroppedBytes != 0 {
			b.t.Errorf("%d bytes before and %d after it, want %d in all; %+v", len(j.Stdout), len(rest), want.Len(), last.ExecInfo)
		}
	}
	// One that ends within its wait is like any other.
	if r := b.sh("echo a; exit 3", args{"wait_seconds": 30}); r.Stdout != "a\n" || r.ExitCode != 3 {
		b.t.Errorf("got %+v", r)
	}
}

func backgroundTimeout(b *sandbox) {
	began := time.Now()
	j := b.launch("echo before; sleep 600", args{"wait_seconds": 0.5, "timeout_seconds": 2})
	_, last := j.end()
	if took := time.Since(began); took < 2*time.Second || took > 5*time.Second || !*last.TimedOut || last.exitCode() != 137 {
		b.t.Errorf("ended after %v as %+v", took, last.ExecInfo)
	}
	if n := processes(b); n != 0 {
		b.t.Errorf("%d processes are left", n)
	}
}

func pythonREPL(b *sandbox) {
	b = b.create(args{"image": base})
	j := b.launch("python3 -i -q -u")
	for i := range 50 {
		var out string
		for from := j; !strings.Contains(out, "\n"); from = j {
			a := j.args().with(args{"cursor": from.Cursor})
			j = &job{b: b}
			if out == "" {
				a["input"] = fmt.Sprintf("x = %d\nprint(x * x)\n", i)
				check(b.t, b.Call(ctx(b.t), "exec_input", a, j))
			} else {
				j = from.poll(10)
			}
			if out += j.Stdout; out == "" {
				out = " " // it was written
			}
		}
		if out = strings.TrimSpace(out); out != fmt.Sprint(i*i) {
			b.t.Fatalf("round %d: %q, %+v", i, out, j)
		}
	}
	check(b.t, b.Call(ctx(b.t), "exec_input", j.args().with(args{"input": "raise SystemExit(7)\n", "cursor": j.Cursor}), j))
	if _, last := j.end(); last.exitCode() != 7 {
		b.t.Errorf("ended as %+v", last.ExecInfo)
	}
	b.refuse("exec_input", j.args().with(args{"input": "x", "cursor": j.Cursor}), schemas.CodeConflict)

	c := b.launch("cat; echo eof")
	check(b.t, b.Call(ctx(b.t), "exec_input", c.args().with(args{"input": "last", "end": true, "cursor": c.Cursor}), &job{}))
	if out, last := c.end(); out != "lasteof\n" || last.exitCode() != 0 {
		b.t.Errorf("after the end of its input: %q, %+v", out, last.ExecInfo)
	}
	check(b.t, b.destroy(b.ID))
}

func backgroundSignals(b *sandbox) {
	for _, c := range []struct {
		signal, name string
		code         int
	}{{"INT", "SIGINT", 130}, {"SIGTERM", "SIGTERM", 143}, {"KILL", "SIGKILL", 137}} {
		j := b.launch("sleep 600")
		check(b.t, b.Call(ctx(b.t), "exec_kill", j.args().with(args{"signal": c.signal}), nil))
		if _, last := j.end(); last.exitCode() != c.code || last.Signal == nil || *last.Signal != c.name {
			b.t.Errorf("%s: %+v", c.signal, last.ExecInfo)
		}
		b.refuse("exec_kill", j.args().with(args{"signal": c.signal}), schemas.CodeConflict)
	}
	j := b.launch(`trap 'echo resized' WINCH; trap 'echo interrupted' INT; echo ready; while :; do sleep 0.05; done`)
	var seen string
	for _, step := range []struct{ word, signal string }{{"ready", "WINCH"}, {"resized", "INT"}, {"interrupted", ""}} {
		eventually(b.t, 10*time.Second, "it says "+step.word, func() (bool, any) {
			j = j.poll(0)
			seen += j.Stdout
			return strings.Contains(seen, step.word), seen
		})
		if step.signal != "" {
			check(b.t, b.Call(ctx(b.t), "exec_kill", j.args().with(args{"signal": step.signal}), nil))
		}
	}
	check(b.t, b.Call(ctx(b.t), "exec_kill", j.args(), nil))
	b.refuse("exec_kill", j.args().with(args{"signal": "9"}), schemas.CodeInvalidRequest)
}

func backgroundKill(b *sandbox) {
	j := b.launch("(" + tick + ") & setsid sh -c '(" + tick + ") &' & trap '' TERM INT HUP; echo on; " + tick)
	j = j.poll(0)
	eventually(b.t, 10*time.Second, "three of them run", func() (bool, any) {
		n := processes(b)
		return n >= 3, n
	})
	took(b.t, 5*time.Second, "kill", func() {
		for range 2 {
			check(b.t, b.Call(ctx(b.t), "exec_kill", j.args(), nil))
		}
	})
	stopped(b)
	if last := j.poll(0); last.Status != schemas.ExecExited || last.exitCode() != 137 {
		b.t.Errorf("it is %+v", last.ExecInfo)
	}
}

func backgroundIDs(b *sandbox) {
	other := b.create()
	j := b.launch("sleep 600")
	for _, id := range []struct {
		sandbox schemas.SandboxID
		exec    schemas.ExecID
		code    schemas.Code
	}{
		{b.ID, "ex_0123456789abcdef", schemas.CodeNotFound},
		{other.ID, j.ExecID, schemas.CodeNotFound},
		{b.ID, "ex_1", schemas.CodeInvalidRequest},
		{b.ID, "ex_0123456789ABCDEF", schemas.CodeInvalidRequest},
	} {
		a := args{"sandbox_id": id.sandbox, "exec_id": id.exec}
		err := b.refuse("exec_poll", a, id.code)
		if id.code == schemas.CodeNotFound && err != nil && !strings.Contains(err.Error(), "rollback") {
			b.t.Errorf("the message does not tell why it may be gone: %v", err)
		}
		b.refuse("exec_input", a.with(args{"input": "x"}), id.code)
		b.refuse("exec_kill", a, id.code)
		b.refuse("exec_kill", a.with(args{"signal": "INT"}), id.code)
	}
	b.refuse("exec_poll", j.args().with(args{"cursor": "1-0"}), schemas.CodeInvalidRequest)
	b.refuse("exec_poll", j.args().with(args{"cursor": "nonsense"}), schemas.CodeInvalidRequest)
	if b.HTTP != nil {
		bob := &server{&program{Client: b.As(bobKey)}, b.t}
		bob.refuse("exec_poll", j.args(), schemas.CodeNotFound)
		bob.refuse("exec_kill", j.args(), schemas.CodeNotFound)
	}
	if now := j.poll(0); now.Status != schemas.ExecRunning {
		b.t.Errorf("others have ended it: %+v", now.ExecInfo)
	}
	check(b.t, b.Call(ctx(b.t), "exec_kill", j.args(), nil))
	check(b.t, b.destroy(other.ID))
}

func twoPollers(b *sandbox) {
	j := b.launch("i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); usleep 2000; done")
	var texts [2]string
	repeat(b.t, 2, 2, func(i int) error {
		texts[i], _ = j.end()
		return nil
	})
	if texts[0] != texts[1] || strings.Count(texts[0], "\n") != 300 {
		b.t.Errorf("one got %d bytes, the other %d", len(texts[0]), len(texts[1]))
	}
}

func pollsRaceTheEnd(b *sandbox) {
	repeat(b.t, count(60, 500), 4, func(i int) error {
		j := b.launch(fmt.Sprintf("usleep %d; echo out; echo err >&2; exit 9", i%20*500))
		stderr, stdout := "", ""
		for {
			j = j.poll(10)
			stdout, stderr = stdout+j.Stdout, stderr+j.Stderr
			if j.Status == schemas.ExecExited && !j.More {
				break
			}
		}
		if stdout != "out\n" || stderr != "err\n" || j.exitCode() != 9 {
			return fmt.Errorf("run %d: %q, %q, %+v", i, stdout, stderr, j.ExecInfo)
		}
		return nil
	})
}

// droppedOutput: of five million bytes the last are kept, and the rest is told.
func droppedOutput(b *sandbox) {
	j := b.launch("yes 0123456789abcde | head -c 5000000; echo end >&2")
	j.end()
	all := j.poll(0)
	for last := all; last.More; all.Stdout += last.Stdout {
		last = last.poll(0)
		all.Cursor, all.More = last.Cursor, last.More
		all.DroppedBytes += last.DroppedBytes
	}
	const kept = 1 << 20
	if all.DroppedBytes != 5_000_000-kept || all.StdoutBytes != 5_000_000 || all.Cursor != "5000000-4" || all.Stderr != "end\n" {
		b.t.Errorf("%d dropped, cursor %s, %+v", all.DroppedBytes, all.Cursor, all.ExecInfo)
	}
	if whole := int64(len(all.Stdout)) == kept; whole == all.Truncated {
		b.t.Errorf("%d bytes of %d came, truncated: %t", len(all.Stdout), kept, all.Truncated)
	}
}

func fortyExecs(b *sandbox) {
	b = b.create()
	var jobs []*job
	for i := range 32 {
		jobs = append(jobs, b.launch(fmt.Sprintf("echo %d; exec cat", i)))
	}
	err := b.refuse("exec", args{"sandbox_id": b.ID, "command": "true", "background": true}, schemas.CodeLimitExceeded)
	if err != nil && !strings.Contains(err.Error(), "32") {
		b.t.Errorf("the message does not name the limit: %v", err)
	}
	if waits := (args{"sandbox_id": b.ID, "command": "true", "wait_seconds": 5}); b.door == client.REST {
		b.refuse("exec", waits, schemas.CodeLimitExceeded)
	} else { // a model cannot be expected to look after others' commands first
		call[schemas.ExecResult](b.server, "exec", waits)
	}
	for _, j := range jobs[10:18] {
		check(b.t, b.Call(ctx(b.t), "exec_kill", j.args(), nil))
	}
	for range 8 {
		jobs = append(jobs, b.launch("exec cat"))
	}
	b.refuse("exec", args{"sandbox_id": b.ID, "command": "true", "background": true}, schemas.CodeLimitExceeded)
	for i, j := range jobs {
		_, err := try[job](b.server, "exec_poll", j.args().with(args{"wait_seconds": 0}))
		if evicted := i >= 10 && i < 18; evicted != (client.Code(err) == string(schemas.CodeNotFound)) || !evicted && err != nil {
			b.t.Errorf("number %d: %v", i, err)
		}
	}
	if list := call[schemas.ExecList](b.server, "exec_poll", args{"sandbox_id": b.ID}); len(list.Execs) != 32 || list.Execs[31].ExecID != jobs[39].ExecID || list.Execs[0].Command != "echo 0; exec cat" {
		b.t.Errorf("%d are listed: %+v", len(list.Execs), list)
	}
	check(b.t, b.destroy(b.ID))
}

// devServer: it can be reached from another command, outlives the call that
// started it and its server, and ends with a kill, a rollback and a destroy.
func devServer(s *server) {
	b := s.create(args{"image": base})
	b.write("f", "served\n")
	snap := b.snapshot("x")
	serve := func() *job {
		s.t.Helper()
		j := b.launch("python3 -u -m http.server 8000 --bind 127.0.0.1")
		if out := b.must("until curl -fs localhost:8000/f; do sleep 0.1; done", args{"timeout_seconds": 30}); out != "served\n" {
			s.t.Errorf("it serves %q", out)
		}
		return j
	}
	dead := func(why string) {
		s.t.Helper()
		if r := b.sh("curl -sS --max-time 5 localhost:8000/f"); r.ExitCode != 7 {
			s.t.Errorf("after %s: %+v", why, r)
		}
		if n := processes(b); n != 0 {
			s.t.Errorf("after %s %d processes are left", why, n)
		}
	}
	j := serve()
	s.restart()
	if out := b.must("curl -fsS localhost:8000/f"); out != "served\n" {
		s.t.Errorf("after the restart it serves %q", out)
	}
	if j = j.poll(0); j.Status != schemas.ExecRunning || !strings.Contains(j.Stderr, "GET /f") {
		s.t.Errorf("after the restart it is %+v", j)
	}
	check(s.t, s.Call(ctx(s.t), "exec_kill", j.args(), nil))
	dead("exec_kill")

	j = serve().poll(0)
	var err error
	wait := inBackground(func() { _, err = try[job](s, "exec_poll", j.args().with(args{"wait_seconds": 60, "cursor": j.Cursor})) })
	b.rollback(snap.ID)
	took(s.t, 5*time.Second, "the end of the poll", wait)
	// It may have come when the old one was gone already.
	if code := client.Code(err); code != string(schemas.CodeSandboxGone) && code != string(schemas.CodeNotFound) {
		s.t.Errorf("the poll ended with %v", err)
	}
	dead("a rollback")
	s.refuse("exec_poll", j.args(), schemas.CodeNotFound)

	j = serve()
	check(s.t, s.destroy(b.ID))
	s.refuse("exec_poll", j.args(), schemas.CodeNotFound)
	orphaned(s)
}

func backgroundExpires(s *server) {
	b := s.create(args{"timeout_seconds": 5})
	j := b.launch("sleep 600")
	_, err := try[job](s, "exec_poll", j.args().with(args{"wait_seconds": 60}))
	if client.Code(err) != string(schemas.CodeSandboxGone) || !strings.Contains(err.Error(), "expired") {
		s.t.Errorf("the poll ended with %v, want sandbox_gone, expired", err)
	}
	s.refuse("exec_poll", j.args(), schemas.CodeNotFound)
	gone(s, 10*time.Second)
}
