package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// pingWhileBusy is the ping of the older versions.
func pingWhileBusy(t *testing.T) {
	s := quiet(t)
	r := s.raw()
	r.hello()
	id := r.create()
	for i := range 10 {
		r.tool(i, "exec", args{"sandbox_id": id, "command": "sleep 20"}, nil)
	}
	r.say(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	r.answerWithin(`"ping"`, time.Second)
	for i := range 10 {
		r.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)
	}
	r.tool("next", "exec", args{"sandbox_id": id, "command": "until [ -z \"$(pidof sleep)\" ]; do usleep 50000; done"}, nil)
	r.answerWithin(`"next"`, 3*time.Second)
}

// progress: the right token, rising, nothing lost, nothing late, and nothing
// for a call that did not ask.
func progress(t *testing.T) {
	s := quiet(t)
	r := s.raw()
	r.hello()
	id := r.create()
	const command = "for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.2; done"
	for i, token := range []any{"text", 42, 0, nil} {
		meta := args{"progressToken": token}
		if token == nil {
			meta = nil
		}
		r.tool(i, "exec", args{"sandbox_id": id, "command": command}, meta)
	}
	for i := range 4 {
		r.answer(fmt.Sprint(i))
	}
	r.tool("after", "exec", args{"sandbox_id": id, "command": "sleep 1"}, nil)
	r.answer(`"after"`)
	for i, token := range []any{"text", 42.0, 0.0} {
		checkProgress(t, r, i, token)
	}
	for _, m := range r.messages() {
		if m.Method == "notifications/progress" && m.Params.ProgressToken == nil {
			t.Errorf("a notice without a token: %+v", m)
		}
	}
}

func checkProgress(t *testing.T, r *raw, call int, token any) {
	t.Helper()
	answered := r.answers(fmt.Sprint(call))[0].at
	var text strings.Builder
	last, notices := -1.0, 0
	for _, m := range r.messages() {
		if m.Method != "notifications/progress" || m.Params.ProgressToken != token {
			continue
		}
		notices++
		text.WriteString(m.Params.Message)
		if m.Params.Progress <= last {
			t.Errorf("token %v: %v after %v", token, m.Params.Progress, last)
		}
		last = m.Params.Progress
		if m.at.After(answered) {
			t.Errorf("token %v: a notice after the answer", token)
		}
	}
	for i := 1; i <= 8; i++ {
		if want := fmt.Sprintf("line %d\n", i); !strings.Contains(text.String(), want) {
			t.Errorf("token %v: %q is missing in %q", token, want, text.String())
		}
	}
	if notices < 3 || notices > 12 {
		t.Errorf("token %v: %d notices in 1.6 s", token, notices)
	}
}

// oddInput: whatever comes in, what goes out is protocol.
func oddInput(t *testing.T) {
	s := quiet(t)
	r := s.raw()
	for _, line := range []string{
		"", "   ", "nonsense", "{", "[]", "null", "5", `"text"`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "\x00\xff\xfe", `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`{"jsonrpc":"2.0","id":2,"method":"no/such/method"}`, `{"jsonrpc":"2.0","id":3,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"exec","arguments":[]}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"exec","arguments":{"sandbox_id":null}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`,
		`{"jsonrpc":"2.0","method":"notifications/nonsense","params":7}`, `{"jsonrpc":"2.0","id":99,"result":{}}`,
		strings.Repeat("x", 3<<20), `{"a":` + strings.Repeat("[", 20000),
	} {
		r.say("%s", line)
	}
	r.hello()
	id := r.create()
	r.tool(6, "exec", args{"sandbox_id": id, "command": "echo fine; docker ps; echo to stderr >&2"}, nil)
	if isError, err := r.answer("6").structured(nil); isError || err != nil {
		t.Errorf("exec: %v, %v", isError, err)
	}
	if len(r.bad) > 0 {
		t.Errorf("%d lines on standard output are no messages: %.200q", len(r.bad), r.bad)
	}
	if !strings.Contains(r.Log(), "{") {
		t.Error("nothing was logged on standard error at level debug")
	}
}
