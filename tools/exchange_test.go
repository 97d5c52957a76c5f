package tools

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// IDs and progress tokens that no float64 holds come back as they were sent.
func TestLargeNumbersComeBack(t *testing.T) {
	const id, token = "9007199254740993", "-1234567890123456789"
	call := func(sandbox string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"exec","arguments":{"sandbox_id":"` + sandbox +
			`","command":"echo hi"},"_meta":{"progressToken":` + token + `}}}`
	}
	b := newBench(t)
	box := b.create()
	check := func(t *testing.T, lines []string) {
		t.Helper()
		all := strings.Join(lines, "\n")
		if !strings.Contains(all, `"id":`+id) || !strings.Contains(all, `"progressToken":`+token) {
			t.Errorf("got %s", all)
		}
	}
	t.Run("stdio", func(t *testing.T) {
		w := dial(t, b.srv, quiet())
		w.send("%s", call(box))
		w.wait(json.RawMessage(id), soon)
		check(t, w.raw())
	})
	t.Run("forwarded", func(t *testing.T) {
		r := forward(t, soon)
		r.serveNext(b.srv)
		r.send("%s", call(box))
		r.wait(json.RawMessage(id), soon)
		check(t, r.raw())
	})
	t.Run("streamable", func(t *testing.T) {
		p := serveHTTP(t, b.srv).join("")
		r := p.post(t.Context(), call(box))
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		check(t, []string{string(b)})
	})
	t.Run("error", func(t *testing.T) {
		w := dial(t, b.srv, quiet())
		w.send(`{"jsonrpc":"2.0","id":%s,"method":"no/such"}`, id)
		if m := w.wait(json.RawMessage(id), soon); m.Error == nil {
			t.Errorf("got %+v", m)
		}
	})
}

func TestRounded(t *testing.T) {
	for number, want := range map[string]bool{
		"1": false, "0": false, "-5": false, "9007199254740991": false, "9007199254740992": false, "9007199254740993": true, "-9007199254740993": true,
		"1000000000000000000000": true, "1.5": false, `"9007199254740993"`: false, "": false, "null": false, strings.Repeat("9", 400): true,
	} {
		if got := rounded(json.RawMessage(number)); got != want {
			t.Errorf("%.30s: %t", number, got)
		}
	}
}

// Two IDs that only float64 takes for one are two to a forwarder.
func TestForwarderTellsLargeIDsApart(t *testing.T) {
	if a, b := key(json.RawMessage("9007199254740993")), key(json.RawMessage("9007199254740992")); a == b {
		t.Error("they are the same")
	}
	if a, b := key(json.RawMessage("1.0")), key(json.RawMessage("1")); a != b {
		t.Errorf("%s and %s", a, b)
	}
}
