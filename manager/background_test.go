package manager_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// someExec is an ID that nobody has.
const someExec schemas.ExecID = "ex_0123456789abcdef"

// launch starts a background exec.
func (s *server) launch(id schemas.SandboxID, line string) schemas.ExecState {
	s.t.Helper()
	_, running, err := s.Exec(s.t.Context(), owner, id, schemas.ExecRequest{Command: shell(line), Background: true})
	if err != nil || running == nil {
		s.t.Fatalf("start %q: %v, %v", line, running, err)
	}
	return *running
}

func (s *server) poll(id schemas.SandboxID, exec schemas.ExecID, cursor string, wait float64) schemas.ExecState {
	s.t.Helper()
	r, err := s.PollExec(s.t.Context(), owner, id, exec, schemas.ExecPoll{Cursor: cursor, WaitSeconds: &wait})
	if err != nil {
		s.t.Fatalf("poll: %v", err)
	}
	return r
}

// rest polls to the end, from a cursor on.
func (s *server) rest(id schemas.SandboxID, exec schemas.ExecID, cursor string) (stdout string, last schemas.ExecState) {
	s.t.Helper()
	for {
		last = s.poll(id, exec, cursor, 60)
		stdout += last.Stdout
		cursor = last.Cursor
		if last.Status == schemas.ExecExited && !last.More {
			return stdout, last
		}
	}
}

func TestBackgroundExec(t *testing.T) {
	s := start(t)
	id := s.create().ID
	x := s.launch(id, "echo out; echo err >&2; read line; exit 3")
	if x.Status != schemas.ExecRunning || x.ExitCode != nil || x.TimedOut != nil || x.Command != "echo out; echo err >&2; read line; exit 3" {
		t.Errorf("started as %+v", x)
	}
	eventually(t, "output", func() bool { return s.poll(id, x.ExecID, "", 0).StderrBytes == 4 })
	r := s.poll(id, x.ExecID, x.Cursor, 0)
	if r.Stdout != "out\n" || r.Stderr != "err\n" || r.More || r.DroppedBytes != 0 || r.Encoding != "utf-8" || r.Status != schemas.ExecRunning {
		t.Errorf("poll gave %+v", r)
	}
	if err := s.InputExec(t.Context(), owner, id, x.ExecID, []byte("go\n"), false); err != nil {
		t.Fatal(err)
	}
	_, r = s.rest(id, x.ExecID, r.Cursor)
	if *r.ExitCode != 3 || r.Signal != nil || *r.TimedOut || *r.OOMKilled || r.StdoutBytes != 4 || r.Stderr != "" {
		t.Errorf("ended as %+v", r)
	}
	again := s.poll(id, x.ExecID, "", 60)
	if again.Stdout != "out\n" || again.Stderr != "err\n" {
		t.Errorf("the result is not kept: %+v", again)
	}
	list, err := s.ListExecs(t.Context(), owner, id)
	if err != nil || len(list.Execs) != 1 || list.Execs[0].ExecID != x.ExecID || *list.Execs[0].ExitCode != 3 {
		t.Errorf("list is %+v, %v", list, err)
	}
}

// What ends within its wait is an exec like any other, and leaves nothing behind.
func TestExecEndsWithinItsWait(t *testing.T) {
	s := start(t)
	id := s.create().ID
	r, running, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("echo a; exit 2"), WaitSeconds: ptr(30.0)})
	if err != nil || running != nil || r.Stdout != "a\n" || r.ExitCode != 2 {
		t.Errorf("got %+v, %+v, %v", r, running, err)
	}
	if list, err := s.ListExecs(t.Context(), owner, id); err != nil || list.Execs == nil || len(list.Execs) != 0 {
		t.Errorf("list is %#v, %v", list, err)
	}
}

// The output before and after a hand-over is that of one run, without a gap.
func TestHandOverLosesNothing(t *testing.T) {
	const line = "while :; do printf 'é😀\\n'; sleep 0.001; if test -e stop; then exit 0; fi; done"
	for _, encoding := range []schemas.Encoding{schemas.EncodingUTF8, schemas.EncodingBase64} {
		t.Run(string(encoding), func(t *testing.T) {
			s := start(t)
			id := s.create().ID
			_, x, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell(line), WaitSeconds: ptr(0.05), Encoding: encoding})
			if err != nil || x == nil {
				t.Fatalf("%+v, %v", x, err)
			}
			s.mustSh(id, "touch stop")
			text := decoded(t, x.Stdout, encoding)
			for state := *x; state.Status == schemas.ExecRunning || state.More; {
				state, err = s.PollExec(t.Context(), owner, id, x.ExecID, schemas.ExecPoll{Cursor: state.Cursor, WaitSeconds: ptr(9.0), MaxOutputBytes: ptr[int64](5), Encoding: encoding})
				if err != nil || state.DroppedBytes > 0 {
					t.Fatalf("%+v, %v", state, err)
				}
				text += decoded(t, state.Stdout, encoding)
			}
			if rest := strings.ReplaceAll(text, "é😀\n", ""); rest != "" || text == "" {
				t.Errorf("of %d bytes are too many: %q", len(text), rest)
			}
		})
	}
}

func decoded(t *testing.T, text string, e schemas.Encoding) string {
	if e == schemas.EncodingUTF8 {
		return text
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What a small cap has kept out of the answer can be polled for.
func TestHandOverBeyondTheCap(t *testing.T) {
	s := start(t)
	id := s.create().ID
	_, x, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("echo 0123456789; sleep 60"), WaitSeconds: ptr(0.05), MaxOutputBytes: ptr[int64](4)})
	if err != nil || x.Stdout != "0123" || !x.More || x.StdoutBytes != 11 {
		t.Fatalf("%+v, %v", x, err)
	}
	if r := s.poll(id, x.ExecID, x.Cursor, 0); r.Stdout != "456789\n" || r.More {
		t.Errorf("then came %+v", r)
	}
}

// Who gives no timeout to a command that may go on by itself wants none; one that
// is given counts from the start, whatever is waited.
func TestHandOverAndTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		for _, c := range []struct {
			timeout *float64
			ends    time.Duration
			timed   bool
		}{{nil, 100 * time.Second, false}, {ptr(90.0), 90 * time.Second, true}, {ptr(7200.0), 100 * time.Second, false}} {
			begin := time.Now()
			_, x, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("sleep 100"), WaitSeconds: ptr(40.0), TimeoutSeconds: c.timeout})
			if err != nil || x == nil || time.Since(begin).Round(time.Second) != 40*time.Second {
				t.Fatalf("%+v, %v after %v", x, err, time.Since(begin))
			}
			_, r := s.rest(id, x.ExecID, x.Cursor)
			if took := time.Since(begin).Round(time.Second); took != c.ends || *r.TimedOut != c.timed || (*r.ExitCode == 137) != c.timed {
				t.Errorf("timeout %v: ended after %v as %+v", c.timeout, took, r)
			}
		}
	})
}

func TestBackgroundRefuses(t *testing.T) {
	s := start(t)
	id := s.create().ID
	x := s.launch(id, "echo 12345; sleep 60")
	eventually(t, "output", func() bool { return s.poll(id, x.ExecID, "", 0).StdoutBytes == 6 })
	for about, req := range map[string]schemas.ExecRequest{
		"wait_seconds is -1; allowed is 0 to 600":               {WaitSeconds: ptr(-1.0)},
		"wait_seconds is 600.5; allowed is 0 to 600":            {WaitSeconds: ptr(600.5)},
		"wait_seconds is NaN":                                   {WaitSeconds: &nan},
		"timeout_seconds is 0; allowed is more than 0":          {Background: true, TimeoutSeconds: ptr(0.0)},
		"timeout_seconds is 86401; allowed is more than 0 and ": {Background: true, TimeoutSeconds: ptr(86401.0)},
	} {
		req.Command = shell("true")
		_, _, err := s.Exec(t.Context(), owner, id, req)
		wantInvalid(t, err, about)
	}
	for about, p := range map[string]schemas.ExecPoll{
		`cursor "7-0"`:                   {Cursor: "7-0"},
		`cursor "0-1"`:                   {Cursor: "0-1"},
		`cursor "-1-0"`:                  {Cursor: "-1-0"},
		`cursor "0"`:                     {Cursor: "0"},
		`cursor "00-0"`:                  {Cursor: "00-0"},
		`cursor "9223372036854775808-0"`: {Cursor: "9223372036854775808-0"},
		"wait_seconds is 61":             {WaitSeconds: ptr(61.0)},
		"max_output_bytes is -1":         {MaxOutputBytes: ptr[int64](-1)},
		"encoding is":                    {Encoding: "latin1"},
	} {
		_, err := s.PollExec(t.Context(), owner, id, x.ExecID, p)
		wantInvalid(t, err, about)
	}
	for _, bad := range []schemas.ExecID{"", "ex_", "../x", "ex_0123456789ABCDEF"} {
		_, err := s.PollExec(t.Context(), owner, id, bad, schemas.ExecPoll{})
		wantInvalid(t, err, "exec_id must be an exec ID")
		wantInvalid(t, s.KillExec(t.Context(), owner, id, bad), "exec_id")
	}
	wantInvalid(t, s.InputExec(t.Context(), owner, id, x.ExecID, nil, false), "empty")
	for _, bad := range []string{"", "SIG", "9", "SIGFOO", "INT "} {
		wantInvalid(t, s.SignalExec(t.Context(), owner, id, x.ExecID, schemas.SignalRequest{Signal: bad}), "signal is")
	}
}

// Unknown, forgotten, and those of another sandbox.
func TestBackgroundNotFound(t *testing.T) {
	s := start(t)
	id, other := s.create().ID, s.create().ID
	x := s.launch(id, "sleep 60").ExecID
	for _, at := range []struct {
		sandbox schemas.SandboxID
		exec    schemas.ExecID
	}{{id, someExec}, {other, x}} {
		_, poll := s.PollExec(t.Context(), owner, at.sandbox, at.exec, schemas.ExecPoll{})
		for what, err := range map[string]error{
			"poll":   poll,
			"input":  s.InputExec(t.Context(), owner, at.sandbox, at.exec, []byte("x"), false),
			"signal": s.SignalExec(t.Context(), owner, at.sandbox, at.exec, schemas.SignalRequest{Signal: "INT"}),
			"kill":   s.KillExec(t.Context(), owner, at.sandbox, at.exec),
		} {
			if e := wantKind(t, err, manager.KindNotFound); !strings.Contains(e.Message, string(at.exec)) || !strings.Contains(e.Hint, "rollback") {
				t.Errorf("%s: %q, %q", what, e.Message, e.Hint)
			}
		}
	}
	if r := s.poll(id, x, "", 0); r.Status != schemas.ExecRunning {
		t.Errorf("others have ended it: %+v", r)
	}
}

// 32 run at a time; of those that have ended the oldest goes first.
func TestBackgroundExecsAreBounded(t *testing.T) {
	s := start(t)
	id := s.create().ID
	var ids []schemas.ExecID
	for i := range manager.MaxBackground {
		ids = append(ids, s.launch(id, fmt.Sprintf("echo %d; read line", i)).ExecID)
	}
	_, _, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("true"), Background: true})
	if e := wantKind(t, err, manager.KindLimit); !strings.Contains(e.Message, "32") || !strings.Contains(e.Hint, "kill") {
		t.Errorf("error says too little: %+v", e)
	}
	s.mustSh(id, "true")
	for _, i := range []int{5, 2} {
		if err := s.InputExec(t.Context(), owner, id, ids[i], nil, true); err != nil {
			t.Fatal(err)
		}
		s.rest(id, ids[i], "")
	}
	s.launch(id, "read line")
	if _, err := s.PollExec(t.Context(), owner, id, ids[2], schemas.ExecPoll{}); manager.KindOf(err) != manager.KindNotFound {
		t.Errorf("the oldest that has ended is still there: %v", err)
	}
	s.poll(id, ids[5], "", 0)
	s.launch(id, "read line")
	_, _, err = s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("true"), Background: true})
	wantKind(t, err, manager.KindLimit)
	if list, err := s.ListExecs(t.Context(), owner, id); err != nil || len(list.Execs) != manager.MaxBackground {
		t.Errorf("%d are listed, %v", len(list.Execs), err)
	}
}

// Execs that are waited for do not count as background ones.
func TestManyExecsThatMayBeHandedOver(t *testing.T) {
	s := start(t)
	id := s.create().ID
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			r, x, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("sleep 0.2; echo a"), WaitSeconds: ptr(30.0)})
			if err != nil || x != nil || r.Stdout != "a\n" {
				t.Errorf("%+v, %+v, %v", r, x, err)
			}
		})
	}
	wg.Wait()
}

// The caller going away kills a command that is waited for, and not one that has
// been handed over.
func TestBackgroundCallerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, x, err := s.Exec(ctx, owner, id, schemas.ExecRequest{Command: shell("sleep 5; touch kept"), WaitSeconds: ptr(1.0)})
		if err != nil || x == nil {
			t.Fatalf("%+v, %v", x, err)
		}
		_, _, err = s.Exec(ctx, owner, id, schemas.ExecRequest{Command: shell("sleep 5; touch killed"), WaitSeconds: ptr(60.0)})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		time.Sleep(10 * time.Second)
		if got := s.mustSh(id, "ls"); got != "kept\n" {
			t.Errorf("files are %q", got)
		}
	})
}

// A big input that is not read cannot be kept for the command.
func TestHandOverWithUnreadInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		big := strings.Repeat("x", 3<<20)
		_, _, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("sleep 300; touch late"), Stdin: &big, WaitSeconds: ptr(1.0)})
		if e := wantKind(t, err, manager.KindConflict); !strings.Contains(e.Message, "standard input") {
			t.Errorf("error is %+v", e)
		}
		if n := s.fake.Calls(backendtest.OpOpen); n != 0 {
			t.Error("the connection was given up")
		}
		small := big[:1<<20-1]
		_, x, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("sleep 2; wc -c"), Stdin: &small, WaitSeconds: ptr(1.0)})
		if err != nil || x == nil {
			t.Fatalf("%+v, %v", x, err)
		}
		if got, _ := s.rest(id, x.ExecID, x.Cursor); got != "1048575\n" {
			t.Errorf("the command has read %q", got)
		}
	})
}
