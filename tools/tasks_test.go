package tools

import (
	"strings"
	"testing"
)

// mcp-go ends the context of a task as soon as it is made, so there are none: not
// offered, and a client that asks for one all the same gets the plain result.
func TestNoTasks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := dial(t, b.srv, quiet())
	hello := w.handshake("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for what, text := range map[string]string{"initialize": string(hello.Result), "tools/list": string(w.wait(1, soon).Result)} {
		if text == "" || strings.Contains(text, `"tasks"`) || strings.Contains(text, "taskSupport") {
			t.Errorf("%s speaks of tasks: %s", what, text)
		}
	}
	id := b.create()
	w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"exec","arguments":{"sandbox_id":%q,"command":"sleep 0.3; echo done"},"task":{"ttl":60000}}}`, id)
	if r := w.result(2, soon); r.IsError || !strings.Contains(r.text(), "done") {
		t.Errorf("got %+v", r)
	}
	w.send(`{"jsonrpc":"2.0","id":3,"method":"tasks/list"}`)
	if m := w.wait(3, soon); m.Error == nil {
		t.Errorf("tasks/list: %s", m.Result)
	}
}
