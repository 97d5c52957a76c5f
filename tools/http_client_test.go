package tools

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// transports are mcp-go's clients of both.
var transports = map[string]func(url string) (transport.Interface, error){
	"streamable": func(url string) (transport.Interface, error) { return transport.NewStreamableHTTP(url + "/mcp") },
	"sse":        func(url string) (transport.Interface, error) { return transport.NewSSE(url + "/sse") },
}

func (s *site) client(t *testing.T, how, version string) *client.Client {
	t.Helper()
	over, err := transports[how](s.url)
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(over, client.WithProtocolVersion(version))
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: version, ClientInfo: mcp.Implementation{Name: "test", Version: "1"},
	}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// notes collects progress by token.
type notes struct {
	mu  sync.Mutex
	all map[any][]string
}

func listen(c *client.Client) *notes {
	n := &notes{all: map[any][]string{}}
	c.OnNotification(func(m mcp.JSONRPCNotification) {
		n.mu.Lock()
		defer n.mu.Unlock()
		token := m.Params.AdditionalFields["progressToken"]
		text, _ := m.Params.AdditionalFields["message"].(string)
		n.all[token] = append(n.all[token], text)
	})
	return n
}

func (n *notes) of(token any) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[token]
}

func execCall(token any, a args) mcp.CallToolRequest {
	r := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "exec", Arguments: a}}
	if token != nil {
		r.Params.Meta = &mcp.Meta{ProgressToken: token}
	}
	return r
}

func TestHTTPClientOfEveryVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := serveHTTP(t, b.srv)
	id := b.create()
	for how := range transports {
		for _, version := range mcp.ValidProtocolVersions {
			t.Run(how+" "+version, func(t *testing.T) {
				c := s.client(t, how, version)
				list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
				if err != nil || len(list.Tools) != len(all) {
					t.Fatalf("%v, %v", list, err)
				}
				progress := listen(c)
				r, err := c.CallTool(t.Context(), execCall("p", args{"sandbox_id": id, "command": "echo a; sleep 0.3; echo b"}))
				if err != nil || r.IsError || !strings.HasSuffix(toText(r.Content[0]), "a\nb") {
					t.Fatalf("got %+v, %v", r, err)
				}
				waitFor(t, func() bool { return strings.Join(progress.of("p"), "") == "a\nb\n" })
			})
		}
	}
}

// Many calls at a time over one connection: each hears of itself, all of it, in
// order, and nothing of the others.
func TestN5HTTPNoProgressIsLostOrMisdirected(t *testing.T) {
	t.Parallel()
	srv := newServer(scripted{exec: func(ctx context.Context, emit func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
		for i := range 5 {
			_ = emit(schemas.Stdout, fmt.Appendf(nil, "%d,", i))
		}
		return schemas.ExecExit{}, nil
	}}, "test", quiet())
	for how := range transports {
		t.Run(how, func(t *testing.T) {
			c := serveHTTP(t, srv).client(t, how, mcp.ProtocolVersion20251125)
			progress := listen(c)
			var calls sync.WaitGroup
			for i := range 40 {
				calls.Go(func() {
					if r, err := c.CallTool(t.Context(), execCall(fmt.Sprint("call ", i), anExec)); err != nil || r.IsError {
						t.Errorf("got %+v, %v", r, err)
					}
				})
			}
			calls.Wait()
			for i := range 40 {
				waitFor(t, func() bool { return strings.Join(progress.of(fmt.Sprint("call ", i)), "") == "0,1,2,3,4," })
			}
		})
	}
}

// The POST of an SSE client is answered long before its call ends.
func TestN6SSECallOutlivesItsPOST(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := serveHTTP(t, b.srv).client(t, "sse", mcp.ProtocolVersion20241105)
	r, err := c.CallTool(t.Context(), execCall(nil, args{"sandbox_id": b.create(), "command": "sleep 1; echo ok"}))
	if err != nil || r.IsError || !strings.HasSuffix(toText(r.Content[0]), "ok") {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Who takes no event stream gets one answer, and no progress.
func TestN5HTTPClientWithoutStreams(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := serveHTTP(t, b.srv, func(p *patience) { p.keepAlive = 10 * time.Millisecond })
	p := s.modern()
	r := p.request(t.Context(), p.toolCall(1, "exec", args{"sandbox_id": b.create(), "command": "echo a; sleep 0.3; echo b"}, args{"progressToken": 1}))
	r.Header.Set("Accept", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if kind := answer.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("it is %s", kind)
	}
	if all := read(t, answer); len(all) != 1 || !strings.Contains(string(all[0].Result), `"exit_code":0`) {
		t.Errorf("got %+v", all)
	}
}
