package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Resources, prompts and completions are there on every transport, in the newest
// protocol version and in the one before it.
func TestRequestsOnEveryTransport(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.call("write_file", args{"sandbox_id": id, "path": "a dir/é.txt", "content": "hello\n"})
	site := serveHTTP(t, b.srv)
	for _, version := range []string{mcp.ProtocolVersion20251125, mcp.ProtocolVersion20260728} {
		t.Run("stdio "+version, func(t *testing.T) { asks(t, connect(t, b, version), id) })
		for how := range transports {
			t.Run(how+" "+version, func(t *testing.T) { asks(t, site.client(t, how, version), id) })
		}
	}
}

func asks(t *testing.T, c *client.Client, id string) {
	ctx := t.Context()
	if l, err := c.ListResources(ctx, mcp.ListResourcesRequest{}); err != nil || len(l.Resources) != 2 {
		t.Errorf("resources: %v, %v", l, err)
	}
	if l, err := c.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{}); err != nil || len(l.ResourceTemplates) != 1 {
		t.Errorf("templates: %v, %v", l, err)
	}
	r, err := c.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: "sandbox://" + id + "/a%20dir/%C3%A9.txt"}})
	if err != nil || r.Contents[0].(mcp.TextResourceContents).Text != "hello\n" {
		t.Errorf("read: %+v, %v", r, err)
	}
	_, err = c.ReadResource(ctx, mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: "sandbox://" + id + "/none"}})
	if err == nil || !strings.Contains(err.Error(), "not_found: ") || !strings.Contains(err.Error(), "list_files") {
		t.Errorf("a file that is not there: %v", err)
	}
	if l, err := c.ListPrompts(ctx, mcp.ListPromptsRequest{}); err != nil || len(l.Prompts) != len(prompts) {
		t.Errorf("prompts: %v, %v", l, err)
	}
	p, err := c.GetPrompt(ctx, mcp.GetPromptRequest{Params: mcp.GetPromptParams{
		Name: "try_in_parallel", Arguments: map[string]string{"problem": "It leaks.", "start_from": id},
	}})
	if err != nil || !strings.Contains(toText(p.Messages[0].Content), id) {
		t.Errorf("prompt: %+v, %v", p, err)
	}
	done, err := c.Complete(ctx, mcp.CompleteRequest{Params: mcp.CompleteParams{
		Ref: mcp.PromptReference{Type: "ref/prompt", Name: "try_safely"}, Argument: mcp.CompleteArgument{Name: "sandbox_id", Value: "sb_"},
	}})
	if err != nil || !slices.Equal(done.Completion.Values, []string{id}) {
		t.Errorf("complete: %+v, %v", done, err)
	}
}

// Over HTTP, 2026-07-28 wants a status that goes with the code.
func TestRequestsFailWithTheirStatus(t *testing.T) {
	b := newBench(t)
	id := b.create()
	site := serveHTTP(t, b.srv)
	read := args{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": args{"uri": "sandbox://" + id + "/none"}}
	p := site.join("")
	if status, text := p.status(p.request(t.Context(), read)); status != 200 || !strings.HasPrefix(text, "not_found: ") {
		t.Errorf("before: %d, %q", status, text)
	}
	read["params"].(args)["_meta"] = args{
		mcp.MetaKeyProtocolVersion: mcp.ProtocolVersion20260728, mcp.MetaKeyClientCapabilities: args{},
		mcp.MetaKeyClientInfo: args{"name": "test", "version": "1"},
	}
	p = site.modern()
	r := p.request(t.Context(), read)
	r.Header.Set("Mcp-Name", "sandbox://"+id+"/none")
	if status, text := p.status(r); status != 400 || !strings.HasPrefix(text, "not_found: ") {
		t.Errorf("since then: %d, %q", status, text)
	}
}

// And through the process that passes them on; what was asked when the server
// died is asked of the next one.
func TestForwarderRequests(t *testing.T) {
	noLeaks(t)
	b := newBench(t)
	id := b.create()
	r := forward(t, soon)
	s := r.scriptNext()
	r.shakes(s)
	r.ask(1, "resources/read", args{"uri": sandboxesURI})
	s.hears("resources/read")
	r.serveNext(b.srv)
	s.Close()
	if m := r.wait(1, soon); !strings.Contains(string(m.Result), id) {
		t.Errorf("got %s", m.Result)
	}
	r.ask(2, "prompts/get", args{"name": "try_safely", "arguments": args{"task": "upgrade"}})
	if m := r.wait(2, soon); !strings.Contains(string(m.Result), "upgrade") {
		t.Errorf("got %s", m.Result)
	}
	r.ask(3, "completion/complete", args{
		"ref": args{"type": "ref/resource", "uri": fileTemplate}, "argument": args{"name": "sandbox_id", "value": ""},
	})
	if m := r.wait(3, soon); !strings.Contains(string(m.Result), id) {
		t.Errorf("got %s", m.Result)
	}
	r.in.Close()
	r.ended(soon)
}

func (w *wire) ask(id any, method string, params args) {
	w.t.Helper()
	b, err := json.Marshal(args{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		w.t.Fatal(err)
	}
	w.send("%s", b)
}

// answer is what srv says to a request of an owner's, as it passes a transport.
func (b *bench) answer(o manager.Owner, method string, params args) (m message) {
	b.t.Helper()
	line, err := json.Marshal(args{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		b.t.Fatal(err)
	}
	c := newConn(b.srv, "test", quiet(), func(any) {}, nil)
	raw, err := json.Marshal(c.handle(WithOwner(context.Background(), o), json.RawMessage("1"), line))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

func TestResourceContents(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.call("write_file", args{"sandbox_id": id, "path": "sub/a.txt", "content": "text"})
	b.call("write_file", args{"sandbox_id": id, "path": "b.bin", "content_base64": "iVBORw0KGgoA"})
	b.call("write_file", args{"sandbox_id": id, "path": "empty", "content": ""})
	for name, size := range map[string]int{"big": maxResourceBytes + 1, "fits": maxResourceBytes} {
		b.call("write_file", args{"sandbox_id": id, "path": name, "content": strings.Repeat("\x00", size)})
	}
	for path, want := range map[string]string{
		"sub/a.txt":            `"mimeType":"text/plain","text":"text"`,
		"workspace/sub/a.txt":  `"text":"text"`,
		"/workspace/sub/a.txt": `"text":"text"`,
		"b.bin":                `"mimeType":"image/png","blob":"iVBORw0KGgoA"`,
		"empty":                `"text":""`,
		"fits":                 `"mimeType":"application/octet-stream","blob":"AAAA`,
	} {
		m := b.answer(manager.DefaultOwner, "resources/read", args{"uri": "sandbox://" + id + "/" + path})
		if m.Error != nil || !strings.Contains(string(m.Result), want) {
			t.Errorf("%s: %.200s, %+v", path, m.Result, m.Error)
		}
	}
	for uri, want := range map[string]string{
		"sandbox://" + id + "/none":                             "-32002 not_found: ",
		"sandbox://" + id + "/big":                              "-32602 payload_too_large: /workspace/big has 524289 bytes; a resource has at most 524288\nHint: read_file",
		"sandbox://" + id + "/sub":                              "-32602 invalid_request: ",
		"sandbox://" + id + "/":                                 "-32602 invalid_request: path is empty",
		"sandbox://" + id + "/a%00b":                            "-32602 invalid_request: path has a NUL byte",
		"sandbox://sb_0123456789abcdef/a":                       "-32002 not_found: no sandbox sb_0123456789abcdef\nHint: ",
		"sandbox://snap_0123456789abcdef/a":                     "-32602 invalid_request: sandbox_id: must be a sandbox ID",
		"sandbox://nonsense":                                    "-32002 handler not found for resource URI 'sandbox://nonsense': resources are sandbox://sandboxes, ",
		"sandbox://" + id + "/" + strings.Repeat("x", maxAsked): "-32600 a resources/read request may have 65536 bytes",
	} {
		m := b.answer(manager.DefaultOwner, "resources/read", args{"uri": uri})
		if m.Error == nil || !strings.HasPrefix(fmt.Sprint(m.Error.Code, " ", m.Error.Message), want) {
			t.Errorf("%.100s: %+v, want %s", uri, m.Error, want)
		}
	}
}

// Nobody sees, reads or completes what is another's.
func TestRequestsOfAnotherOwner(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var snap schemas.Snapshot
	b.call("snapshot", args{"sandbox_id": id}).into(t, &snap)
	for method, params := range map[string]args{
		"resources/read":      {"uri": "sandbox://" + id + "/a"},
		"prompts/get":         {"name": "try_safely", "arguments": args{"task": "x", "sandbox_id": id}},
		"completion/complete": {"ref": args{"type": "ref/resource", "uri": fileTemplate}, "argument": args{"name": "path", "value": ""}, "context": args{"arguments": args{"sandbox_id": id}}},
	} {
		m := b.answer("other", method, params)
		if method == "completion/complete" {
			if string(m.Result) == "" || !strings.Contains(string(m.Result), `"values":[]`) {
				t.Errorf("%s: %s, %+v", method, m.Result, m.Error)
			}
		} else if m.Error == nil || !strings.Contains(m.Error.Message, "no sandbox "+id) {
			t.Errorf("%s: %s, %+v", method, m.Result, m.Error)
		}
	}
	m := b.answer("other", "prompts/get", args{"name": "try_in_parallel", "arguments": args{"problem": "x", "start_from": snap.ID}})
	if m.Error == nil || !strings.Contains(m.Error.Message, "not_found") {
		t.Errorf("a snapshot: %s, %+v", m.Result, m.Error)
	}
	for what, params := range map[string]args{
		"sandboxes": {"uri": sandboxesURI}, "snapshots": {"uri": snapshotsURI},
	} {
		if m := b.answer("other", "resources/read", params); !strings.Contains(string(m.Result), what) || strings.Contains(string(m.Result), "_id") || strings.Contains(string(m.Result), id) {
			t.Errorf("%s: %s", what, m.Result)
		}
		if m := b.answer(manager.DefaultOwner, "resources/read", params); !strings.Contains(string(m.Result), id) {
			t.Errorf("%s, of one's own: %s", what, m.Result)
		}
	}
	if m := b.answer("other", "completion/complete", args{
		"ref": args{"type": "ref/prompt", "name": "try_in_parallel"}, "argument": args{"name": "start_from", "value": ""},
	}); !strings.Contains(string(m.Result), `"values":[]`) {
		t.Errorf("completions: %s", m.Result)
	}
}

func TestCompletions(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var snap schemas.Snapshot
	b.call("snapshot", args{"sandbox_id": id}).into(t, &snap)
	files := []string{"src/deep/x", "src/main.go", "src/mail.txt"}
	for i := range 120 {
		files = append(files, fmt.Sprintf("many/%d", i))
	}
	for _, f := range files {
		b.call("write_file", args{"sandbox_id": id, "path": f, "content": ""})
	}
	file := args{"type": "ref/resource", "uri": fileTemplate}
	known := args{"arguments": args{"sandbox_id": id}}
	for _, c := range []struct {
		ref            args
		argument, text string
		want           string
	}{
		{file, "sandbox_id", "sb_", `{"values":["` + id + `"]}`},
		{file, "sandbox_id", id[:5], `{"values":["` + id + `"]}`},
		{file, "sandbox_id", "x", `{"values":[]}`},
		{file, "path", "src/ma", `{"values":["src/mail.txt","src/main.go"]}`},
		{file, "path", "/workspace/src/d", `{"values":["/workspace/src/deep/"]}`},
		{file, "path", "s", `{"values":["src/"]}`},
		{file, "path", "none/x", `{"values":[]}`},
		{args{"type": "ref/prompt", "name": "try_in_parallel"}, "start_from", "s", `{"values":["` + id + `","` + string(snap.ID) + `"]}`},
		{args{"type": "ref/prompt", "name": "try_in_parallel"}, "start_from", "snap_", `{"values":["` + string(snap.ID) + `"]}`},
		{args{"type": "ref/prompt", "name": "try_in_parallel"}, "problem", "s", `{"values":[]}`},
	} {
		m := b.answer(manager.DefaultOwner, "completion/complete", args{"ref": c.ref, "argument": args{"name": c.argument, "value": c.text}, "context": known})
		if got := string(m.Result); got != `{"completion":`+c.want+`}` {
			t.Errorf("%s %q: %s, %+v", c.argument, c.text, got, m.Error)
		}
	}
	m := b.answer(manager.DefaultOwner, "completion/complete", args{"ref": file, "argument": args{"name": "path", "value": "many/"}, "context": known})
	var r struct{ Completion mcp.Completion }
	if err := json.Unmarshal(m.Result, &r); err != nil || len(r.Completion.Values) != 100 || !r.Completion.HasMore {
		t.Errorf("of many: %d, %t, %v", len(r.Completion.Values), r.Completion.HasMore, err)
	}
	m = b.answer(manager.DefaultOwner, "completion/complete", args{"ref": args{"type": "ref/prompt", "name": "none"}, "argument": args{"name": "x", "value": ""}})
	if m.Error == nil || m.Error.Code != mcp.INVALID_PARAMS {
		t.Errorf("of an unknown prompt: %s, %+v", m.Result, m.Error)
	}
}

func TestPromptArguments(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var snap schemas.Snapshot
	b.call("snapshot", args{"sandbox_id": id}).into(t, &snap)
	for _, c := range []struct {
		name  string
		given args
		want  []string // in the text
		fails string
	}{
		{"try_in_parallel", args{"problem": "It leaks."}, []string{"It leaks.", "3 different ways", "sandbox_create", "Write a test", "count 3"}, ""},
		{"try_in_parallel", args{"problem": "x", "ways": "5", "check": "make test", "start_from": snap.ID}, []string{"5 different", "make test", "fork snapshot " + string(snap.ID) + " with count 5"}, ""},
		{"try_in_parallel", args{"problem": "x", "start_from": id}, []string{"in sandbox " + id}, ""},
		{"try_in_parallel", args{}, nil, "problem: is required"},
		{"try_in_parallel", args{"problem": "  "}, nil, "problem: is required"},
		{"try_in_parallel", args{"problem": "x", "ways": "11"}, nil, `ways: must be a whole number from 2 to 10, got "11"`},
		{"try_in_parallel", args{"problem": "x", "ways": "many"}, nil, "ways: must be a whole number"},
		{"try_in_parallel", args{"problem": "x", "count": "3"}, nil, "count: is not a known argument; known are problem, ways, check, start_from"},
		{"try_in_parallel", args{"problem": "x", "start_from": "here"}, nil, "start_from: must be a sandbox ID"},
		{"try_in_parallel", args{"problem": "x", "start_from": "snap_0123456789abcdef"}, nil, "not_found: "},
		{"try_safely", args{"task": "upgrade", "sandbox_id": id}, []string{"in sandbox " + id, "upgrade", "roll back"}, ""},
		{"try_safely", args{"task": "upgrade", "sandbox_id": "sb_0123456789abcdef"}, nil, "no sandbox sb_0123456789abcdef"},
	} {
		m := b.answer(manager.DefaultOwner, "prompts/get", args{"name": c.name, "arguments": c.given})
		if c.fails != "" {
			if m.Error == nil || m.Error.Code != mcp.INVALID_PARAMS || !strings.Contains(m.Error.Message, c.fails) {
				t.Errorf("%v: %s, %+v, want %s", c.given, m.Result, m.Error, c.fails)
			}
			continue
		}
		for _, part := range c.want {
			if m.Error != nil || !strings.Contains(string(m.Result), part) {
				t.Errorf("%v: no %q in %s, %+v", c.given, part, m.Result, m.Error)
			}
		}
	}
}
