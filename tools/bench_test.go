package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
)

// bench is a server on a real manager with the fake backend.
type bench struct {
	t    testing.TB
	srv  *server.MCPServer
	fake *backendtest.Fake
	m    *manager.Manager
}

func newBench(t testing.TB) *bench {
	fake := backendtest.NewFake(t)
	m, err := manager.New(testConfig(t), fake)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return &bench{t, NewServer(m, "test", quiet()), fake, m}
}

// configure gives the doors settings that the manager need not have.
func (b *bench) configure(edit func(*manager.Config)) {
	cfg := b.m.Config()
	edit(&cfg)
	b.srv = newServer(configured{b.m, cfg}, "test", quiet())
}

func testConfig(t testing.TB) manager.Config {
	return manager.Config{
		DataDir: t.TempDir(), DefaultImage: manager.BaseImage, AllowedImages: []string{"*"}, AllowNetwork: true,
		MaxSandboxes: 20, DefaultTimeoutSeconds: 900, MaxTimeoutSeconds: 86400,
		DefaultCPUs: 1, MaxCPUs: 4, DefaultMemoryMB: 512, MaxMemoryMB: 4096, DefaultPidsLimit: 256, MaxPidsLimit: 4096,
		DefaultExecTimeoutSeconds: 60, MaxExecTimeoutSeconds: 3600,
		MaxExecOutputBytes: 10 << 20, MaxFileBytes: 50 << 20, MaxSnapshotBytes: 1 << 30,
		ReapInterval: 1e10, Log: quiet(),
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// args are a tool's arguments.
type args map[string]any

// result is what a client gets to see.
type result struct {
	Content []struct {
		Type, Text, Data, MimeType string
	}
	StructuredContent json.RawMessage
	IsError           bool
	size              int
}

func (r result) text() string {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n")
}

// into decodes structuredContent.
func (r result) into(t testing.TB, v any) {
	t.Helper()
	if r.IsError {
		t.Fatalf("the call failed: %s", r.text())
	}
	if err := json.Unmarshal(r.StructuredContent, v); err != nil {
		t.Fatalf("decode %.200s: %v", r.StructuredContent, err)
	}
}

// call calls a tool past any transport.
func (b *bench) call(name string, a args) result {
	b.t.Helper()
	return callOn(b.t, b.srv, WithOwner(context.Background(), manager.DefaultOwner), name, a)
}

func callOn(t testing.TB, srv *server.MCPServer, ctx context.Context, name string, a args) result {
	t.Helper()
	params := map[string]any{"name": name}
	if a != nil {
		params["arguments"] = a
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		t.Fatal(err)
	}
	r := toResult(t, srv.HandleMessage(ctx, line))
	checkSchema(t, name, r)
	return r
}

// checkSchema holds a result against what its tool promises.
func checkSchema(t testing.TB, name string, r result) {
	t.Helper()
	schema := outputSchemas()[name]
	if schema == nil || r.IsError {
		return
	}
	if r.StructuredContent == nil {
		t.Errorf("%s: no structured content, which clients refuse beside a schema", name)
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.StructuredContent))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

var outputSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	schemas := map[string]*jsonschema.Schema{}
	c := jsonschema.NewCompiler()
	for _, tool := range all {
		if tool.RawOutputSchema == nil {
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.RawOutputSchema))
		if err != nil {
			panic(err)
		}
		if err := c.AddResource(tool.Name, doc); err != nil {
			panic(err)
		}
		schemas[tool.Name] = c.MustCompile(tool.Name)
	}
	return schemas
})

func toResult(t testing.TB, response mcp.JSONRPCMessage) result {
	t.Helper()
	b, err := json.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Result *result
		Error  json.RawMessage
	}
	if err := json.Unmarshal(b, &m); err != nil || m.Result == nil {
		t.Fatalf("no result, but %s (%v)", b, err)
	}
	m.Result.size = len(b)
	checkResult(t, *m.Result)
	return *m.Result
}

// checkResult is what holds for every result.
func checkResult(t testing.TB, r result) {
	t.Helper()
	if len(r.Content) == 0 {
		t.Error("no content")
	}
	for _, c := range r.Content {
		if c.Type == "text" && strings.TrimSpace(c.Text) == "" {
			t.Error("a blank text, which the Anthropic API refuses")
		}
	}
	if r.IsError && r.StructuredContent != nil {
		t.Error("structured content in an error does not fit the schema")
	}
}

// create makes a sandbox and returns its ID.
func (b *bench) create() string {
	b.t.Helper()
	var s struct{ ID string }
	b.call("sandbox_create", nil).into(b.t, &s)
	return s.ID
}
