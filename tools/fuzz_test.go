package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// FuzzCalls: any tool with any arguments. Its result fits its schema, or it is an
// error that says what to do and is not the server's own fault.
//
// BOX, SNAP and JOB stand for the IDs of what there is.
func FuzzCalls(f *testing.F) {
	for i, t := range all {
		f.Add(byte(i), []byte(`{"sandbox_id":"BOX","snapshot_id":"SNAP","exec_id":"JOB","path":"a.txt","command":"echo a","content":"c"}`))
		for _, c := range wrongCalls {
			if c.tool == t.Name {
				text, isText := c.args.(string)
				if !isText {
					text = mustJSON(c.args)
				}
				f.Add(byte(i), []byte(text))
			}
		}
	}
	b := newBench(f)
	var names *strings.Replacer
	f.Fuzz(func(t *testing.T, n byte, arguments []byte) {
		b := &bench{t, b.srv, b.fake, b.m}
		if names == nil || !there(b, names) {
			names = fuzzThings(t, b)
		}
		arguments = []byte(names.Replace(string(arguments)))
		if !json.Valid(arguments) {
			t.Skip("no message at all: see FuzzLines")
		}
		ctx, cancel := context.WithTimeout(WithOwner(t.Context(), manager.DefaultOwner), 2*time.Second)
		defer cancel()
		name := all[int(n)%len(all)].Name
		line := mustJSON(args{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": args{"name": name, "arguments": json.RawMessage(arguments)}})
		answer := b.srv.HandleMessage(ctx, json.RawMessage(line))
		if ctx.Err() != nil { // it waited for a command
			return
		}
		r := toResult(t, answer)
		checkSchema(t, name, r)
		if text := r.text(); r.IsError && (strings.HasPrefix(text, string(schemas.CodeInternal)) || !strings.Contains(text, ": ")) {
			t.Errorf("%s %s: %s", name, arguments, text)
		}
	})
}

// there tells whether an input has removed what those before it worked on.
func there(b *bench, names *strings.Replacer) bool {
	return !b.call("exec_poll", args{"sandbox_id": names.Replace(aBox)}).IsError
}

// fuzzThings makes what is worked on, in place of all that there was.
func fuzzThings(t *testing.T, b *bench) *strings.Replacer {
	t.Helper()
	var boxes schemas.SandboxList
	var snaps schemas.SnapshotList
	b.call("sandbox_list", nil).into(t, &boxes)
	for _, box := range boxes.Sandboxes {
		b.call("sandbox_destroy", args{"sandbox_id": box.ID})
	}
	b.call("snapshot_list", nil).into(t, &snaps)
	for _, snap := range snaps.Snapshots {
		b.call("snapshot_delete", args{"snapshot_id": snap.ID})
	}
	id := b.create()
	b.call("write_file", args{"sandbox_id": id, "path": "a.txt", "content": "  hello\n"})
	var snap schemas.Snapshot
	b.call("snapshot", args{"sandbox_id": id}).into(t, &snap)
	var job struct {
		ID string `json:"exec_id"`
	}
	b.call("exec", args{"sandbox_id": id, "command": "sleep 100", "background": true}).into(t, &job)
	return strings.NewReplacer(aBox, id, aSnap, string(snap.ID), aJob, job.ID)
}

// FuzzLines: anything on the input of stdio. Whatever comes out is one message a
// line, and the end of the input ends it.
func FuzzLines(f *testing.F) {
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}` + "\n"
	for _, s := range []string{
		hello + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		hello + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"sandbox_list","arguments":{},"_meta":{"progressToken":1}}}` + "\n",
		hello + `{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"sandbox://sb_0123456789abcdef/workspace/a"}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":null,"result":{}}]` + "\r\n",
		`{"jsonrpc":"2.0","id":{},"method":1}` + "\n\n\x00\xff\n" + `{"id":1,"id":2,"method":"ping"}`,
		hello + `{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{}}`,
		hello + `{"jsonrpc":"2.0","id":6,"method":"logging/setLevel","params":{"level":"debug"}}` + "\n" + `{"jsonrpc":"2.0","id":7,"method":"tasks/list"}`,
	} {
		f.Add([]byte(s))
	}
	b := newBench(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		var out bytes.Buffer
		ended := make(chan error, 1)
		go func() { ended <- ServeStdio(t.Context(), b.srv, io.NopCloser(bytes.NewReader(input)), &out, quiet()) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("it ends with %v", err)
			}
		case <-time.After(soon):
			t.Fatal("it does not end")
		}
		for line := range bytes.Lines(out.Bytes()) {
			var m struct {
				JSONRPC string
			}
			if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" || line[len(line)-1] != '\n' {
				t.Errorf("it says %q: %v", line, err)
			}
		}
		if bytes.Contains(out.Bytes(), []byte(`"code":-32603`)) && bytes.Contains(out.Bytes(), []byte("panic")) {
			t.Errorf("a panic: %s", out.Bytes())
		}
		var boxes schemas.SandboxList
		for b := (&bench{t, b.srv, b.fake, b.m}); ; {
			b.call("sandbox_list", nil).into(t, &boxes)
			if len(boxes.Sandboxes) < 10 {
				break
			}
			for _, box := range boxes.Sandboxes {
				b.call("sandbox_destroy", args{"sandbox_id": box.ID})
			}
		}
	})
}
