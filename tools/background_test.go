package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// outcome is a result of exec, exec_poll or exec_input.
func (b *bench) outcome(tool string, a args) (x schemas.ExecOutcome, text string) {
	b.t.Helper()
	r := b.call(tool, a)
	r.into(b.t, &x)
	return x, r.text()
}

func (b *bench) launch(id, line string) schemas.ExecOutcome {
	b.t.Helper()
	x, _ := b.outcome("exec", args{"sandbox_id": id, "command": line, "background": true})
	if x.Status == nil || *x.Status != schemas.ExecRunning {
		b.t.Fatalf("started as %+v", x)
	}
	return x
}

// An exec that outlasts its wait says how to go on, and loses nothing.
func TestExecIsHandedOver(t *testing.T) {
	b := newBench(t)
	id := b.create()
	x, text := b.outcome("exec", args{"sandbox_id": id, "command": "printf 'a\\303'; sleep 0.4; printf '\\251b'; echo oops >&2; exit 3", "wait_seconds": 0.2})
	if x.Stdout != "a" || *x.Status != schemas.ExecRunning || *x.Cursor != "1-0" || x.ExitCode != nil || x.TimedOut != nil || x.Truncated {
		t.Fatalf("handed over as %+v", x)
	}
	for _, part := range []string{"still running after ", "--- stdout ---\na\n", string(*x.ExecID), `exec_poll with cursor "1-0"`, "exec_kill"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text does not say %q: %q", part, text)
		}
	}
	x, text = b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID, "cursor": *x.Cursor})
	if x.Stdout != "éb" || x.Stderr != "oops\n" || *x.ExitCode != 3 || *x.Status != schemas.ExecExited || x.StdoutBytes != 4 || *x.TimedOut || x.DroppedBytes != nil {
		t.Errorf("ended as %+v", x)
	}
	if !strings.HasPrefix(text, "exit code 3 after ") || !strings.HasSuffix(text, "--- stdout ---\néb\n--- stderr ---\noops") {
		t.Errorf("the text is %q", text)
	}
	x, text = b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID, "cursor": *x.Cursor})
	if x.Stdout != "" || !strings.HasSuffix(text, "no output") {
		t.Errorf("once more: %+v, %q", x, text)
	}
}

// Without a timeout nothing kills a command that is handed over.
func TestHandedOverExecHasNoTimeout(t *testing.T) {
	b := newBench(t)
	b.configure(func(c *manager.Config) { c.DefaultExecTimeoutSeconds = 0.3 })
	id := b.create()
	x, _ := b.outcome("exec", args{"sandbox_id": id, "command": "sleep 0.6; echo done", "wait_seconds": 0.1})
	if x, _ = b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID}); x.Stdout != "done\n" || *x.TimedOut {
		t.Errorf("ended as %+v", x)
	}
	x, _ = b.outcome("exec", args{"sandbox_id": id, "command": "sleep 60", "wait_seconds": 0.1, "timeout_seconds": 0.4})
	x, text := b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID})
	if !*x.TimedOut || *x.ExitCode != 137 || !strings.Contains(text, "killed because its timeout_seconds passed") {
		t.Errorf("ended as %+v, %q", x, text)
	}
}

func TestREPL(t *testing.T) {
	b := newBench(t)
	id := b.create()
	x := b.launch(id, "echo welcome; while read line; do echo \"got $line\"; done; echo bye >&2; exit 4")
	// With a cursor what was there before is not mistaken for the answer.
	x, _ = b.outcome("exec_input", args{"sandbox_id": id, "exec_id": *x.ExecID, "cursor": *x.Cursor, "input": "0\n"})
	if x.Stdout != "welcome\ngot 0\n" {
		t.Errorf("at first: %+v", x)
	}
	for i := range 10 {
		a := args{"sandbox_id": id, "exec_id": *x.ExecID, "input": fmt.Sprintf("%d\n", i)}
		if i%2 == 0 {
			a["cursor"] = *x.Cursor
		}
		if x, _ = b.outcome("exec_input", a); x.Stdout != fmt.Sprintf("got %d\n", i) || *x.Status != schemas.ExecRunning {
			t.Fatalf("round %d: %+v", i, x)
		}
	}
	x, _ = b.outcome("exec_input", args{"sandbox_id": id, "exec_id": *x.ExecID, "input_base64": "bGFzdAo=", "end": true})
	if x.Stdout != "got last\n" || x.Stderr != "bye\n" || *x.ExitCode != 4 {
		t.Errorf("at the end: %+v", x)
	}
	r := b.call("exec_input", args{"sandbox_id": id, "exec_id": *x.ExecID, "input": "x"})
	if !r.IsError || !strings.HasPrefix(r.text(), "conflict: the command has ended, or its standard input has; 0 of 1 bytes were taken\nHint: ") {
		t.Errorf("after the end: %q", r.text())
	}
}

func TestExecPollLists(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var list struct{ Execs []schemas.ExecInfo }
	r := b.call("exec_poll", args{"sandbox_id": id})
	if r.into(t, &list); list.Execs == nil || len(list.Execs) != 0 || r.text() != "no background commands" || string(r.StructuredContent) != `{"execs":[]}` {
		t.Errorf("none: %s, %q", r.StructuredContent, r.text())
	}
	one, two := b.launch(id, "exit 3"), b.launch(id, "sleep 600")
	b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *one.ExecID})
	r = b.call("exec_poll", args{"sandbox_id": id})
	if r.into(t, &list); len(list.Execs) != 2 || list.Execs[0].ExecID != *one.ExecID || list.Execs[1].Status != schemas.ExecRunning {
		t.Errorf("two: %+v", list)
	}
	for _, part := range []string{"background commands: 2\n", string(*one.ExecID) + " exit code 3 after ", string(*two.ExecID) + " running after ", ": sleep 600"} {
		if !strings.Contains(r.text(), part) {
			t.Errorf("the text does not say %q: %q", part, r.text())
		}
	}
}

func TestExecKill(t *testing.T) {
	b := newBench(t)
	id := b.create()
	x := b.launch(id, "trap 'echo caught' INT; while :; do sleep 0.01; done")
	b.sh(id, "sleep 0.1")
	var k schemas.ExecKilled
	b.call("exec_kill", args{"sandbox_id": id, "exec_id": *x.ExecID, "signal": "INT"}).into(t, &k)
	if k.Signal != "INT" {
		t.Errorf("signalled: %+v", k)
	}
	x, _ = b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID, "wait_seconds": 0.3})
	if x.Stdout != "caught\n" || *x.Status != schemas.ExecRunning {
		t.Errorf("then: %+v", x)
	}
	for range 2 {
		r := b.call("exec_kill", args{"sandbox_id": id, "exec_id": *x.ExecID})
		if r.into(t, &k); k.Signal != "SIGKILL" || !strings.Contains(r.text(), "with all it had started") {
			t.Errorf("killed: %+v, %q", k, r.text())
		}
	}
	// One that had ended was not killed, but what it left running is.
	ended := b.launch(id, "sleep 600 & exit 3")
	b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *ended.ExecID})
	k = schemas.ExecKilled{}
	r := b.call("exec_kill", args{"sandbox_id": id, "exec_id": *ended.ExecID})
	if r.into(t, &k); k.Signal != "" || k.ExitCode == nil || *k.ExitCode != 3 || !strings.HasPrefix(r.text(), string(*ended.ExecID)+" had ended already, with exit code 3 after ") {
		t.Errorf("had ended: %+v, %q", k, r.text())
	}
	if x, text := b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID, "cursor": *x.Cursor}); *x.Signal != "SIGKILL" || !strings.HasPrefix(text, "exit code 137: ended by SIGKILL after ") {
		t.Errorf("at last: %+v, %q", x, text)
	}
}

// What a poll returns is bounded, and says what is missing: cut here, or dropped
// before anybody came.
func TestN9PollIsBounded(t *testing.T) {
	b := newBench(t)
	id := b.create()
	x := b.launch(id, "echo start; yes 0123456789 | head -c 3000000; echo end")
	b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID, "max_output_bytes": 0})
	const total = 3000000 + 6 + 4
	for _, c := range []struct {
		cursor  string
		max     int
		dropped int64
		begins  string
	}{
		{"", 20_000, total - 1<<20, "[... "},
		{"", 150, total - 1<<20, ""},
		{fmt.Sprintf("%d-0", total-30_000), 20_000, 0, ""},
		{fmt.Sprintf("%d-0", total-4), 20_000, 0, "end\n"},
	} {
		a := args{"sandbox_id": id, "exec_id": *x.ExecID, "max_output_bytes": c.max, "cursor": c.cursor}
		r := b.call("exec_poll", a)
		x = schemas.ExecOutcome{}
		r.into(t, &x)
		var dropped int64
		if x.DroppedBytes != nil {
			dropped = *x.DroppedBytes
		}
		if dropped != c.dropped || len(x.Stdout) > c.max || len(r.text())+len(r.StructuredContent) > 50_000 || !strings.HasPrefix(x.Stdout, c.begins) || *x.Cursor != fmt.Sprintf("%d-0", total) {
			t.Errorf("%+v: dropped %d, %d bytes %.40q, cursor %s", a, dropped, len(x.Stdout), x.Stdout, *x.Cursor)
		}
		if c.max > 1000 && !strings.HasSuffix(x.Stdout, "end\n") || x.Truncated != (c.begins != "end\n") || x.Stdout == "" {
			t.Errorf("%+v: truncated %v, ends %.40q", a, x.Truncated, x.Stdout[max(0, len(x.Stdout)-40):])
		}
		if said := fmt.Sprintf("%d bytes came too fast or too long ago to be kept.", dropped); strings.Contains(r.text(), said) != (dropped > 0) {
			t.Errorf("%+v: the text is %.60q … %.200q", a, r.text(), r.text()[max(0, len(r.text())-200):])
		}
	}
}

// Progress comes while exec waits and while exec_poll does, and stops at the
// hand-over in between.
func TestProgressStopsAtTheHandOver(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var mu sync.Mutex
	sent := map[string]string{}
	run := func(tool string, a args) (x schemas.ExecOutcome) {
		t.Helper()
		token := fmt.Sprintf("t%d", len(sent))
		sent[token] = ""
		ctx := WithOwner(context.Background(), manager.DefaultOwner)
		ctx = WithNotifier(ctx, func(_ context.Context, _ string, params map[string]any) error {
			mu.Lock()
			defer mu.Unlock()
			sent[params["progressToken"].(string)] += params["message"].(string)
			return nil
		})
		line, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
			"name": tool, "arguments": a, "_meta": map[string]any{"progressToken": token},
		}})
		toResult(t, b.srv.HandleMessage(ctx, line)).into(t, &x)
		return x
	}
	x := run("exec", args{"sandbox_id": id, "command": "echo 1; sleep 0.5; echo 2; sleep 0.5; echo 3; sleep 0.1", "wait_seconds": 0.2})
	time.Sleep(500 * time.Millisecond) // nothing may come now
	run("exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID, "cursor": *x.Cursor})
	mu.Lock()
	defer mu.Unlock()
	if sent["t0"] != "1\n" || sent["t1"] != "2\n3\n" {
		t.Errorf("progress was %q", sent)
	}
}

// Cancelling a poll ends the waiting, and nothing else.
func TestCancelledPoll(t *testing.T) {
	b := newBench(t)
	id := b.create()
	x := b.launch(id, "sleep 600")
	ctx, cancel := context.WithTimeout(WithOwner(context.Background(), manager.DefaultOwner), 100*time.Millisecond)
	defer cancel()
	r := callOn(t, b.srv, ctx, "exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID, "wait_seconds": 60})
	if !r.IsError || !strings.HasPrefix(r.text(), "cancelled: ") {
		t.Errorf("got %q", r.text())
	}
	if x, _ = b.outcome("exec_poll", args{"sandbox_id": id, "exec_id": *x.ExecID, "wait_seconds": 0}); *x.Status != schemas.ExecRunning {
		t.Errorf("then: %+v", x)
	}
}

// While there is no place for a command to be handed over to, short ones go on all
// the same; only what asks for a place is refused.
func TestExecWithoutAPlaceInTheBackground(t *testing.T) {
	b := newBench(t)
	id := b.create()
	for range manager.MaxBackground {
		if r := b.call("exec", args{"sandbox_id": id, "command": "sleep 100", "background": true}); r.IsError {
			t.Fatal(r.text())
		}
	}
	var x schemas.ExecOutcome
	b.call("exec", args{"sandbox_id": id, "command": "echo hi"}).into(t, &x)
	if x.Stdout != "hi\n" || *x.ExitCode != 0 || x.ExecID != nil {
		t.Errorf("got %+v", x)
	}
	r := b.call("exec", args{"sandbox_id": id, "command": "sleep 100", "timeout_seconds": 0.2, "wait_seconds": 0.1})
	if want := "(0.2, as it could not go on in the background, where 32 commands run already)"; r.IsError || !strings.Contains(r.text(), want) {
		t.Errorf("got %q, want %q", r.text(), want)
	}
	r = b.call("exec", args{"sandbox_id": id, "command": "sleep 100", "background": true})
	if text := r.text(); !r.IsError || !strings.Contains(text, "limit_exceeded: 32 background execs are running") || !strings.Contains(text, "exec_poll without exec_id shows them; exec_kill those") {
		t.Errorf("got %q", text)
	}
}
