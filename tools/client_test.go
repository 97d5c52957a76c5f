package tools

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

func toText(c mcp.Content) string {
	t, _ := c.(mcp.TextContent)
	return t.Text
}

// connect is mcp-go's client on pipes.
func connect(t *testing.T, b *bench, version string) *client.Client {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = ServeStdio(context.Background(), b.srv, inR, outW, quiet())
		outW.Close()
	}()
	c := client.NewClient(transport.NewIO(outR, inW, io.NopCloser(strings.NewReader(""))), client.WithProtocolVersion(version))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		inW.Close()
		<-served
	})
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: version, ClientInfo: mcp.Implementation{Name: "test", Version: "1"},
	}}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientOfEveryVersion(t *testing.T) {
	for _, version := range mcp.ValidProtocolVersions {
		t.Run(version, func(t *testing.T) {
			b := newBench(t)
			id := b.create()
			c := connect(t, b, version)
			list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
			if err != nil || len(list.Tools) != len(all) {
				t.Fatalf("%d tools, %v", len(list.Tools), err)
			}
			var mu sync.Mutex
			var progress []string
			c.OnNotification(func(n mcp.JSONRPCNotification) {
				mu.Lock()
				defer mu.Unlock()
				message, _ := n.Params.AdditionalFields["message"].(string)
				progress = append(progress, message)
			})
			r, err := c.CallTool(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{
				Name: "exec", Arguments: args{"sandbox_id": id, "command": "echo a; sleep 0.3; echo b"},
				Meta: &mcp.Meta{ProgressToken: "p"},
			}})
			if err != nil || r.IsError || !strings.HasSuffix(toText(r.Content[0]), "a\nb") {
				t.Fatalf("got %+v, %v", r, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Join(progress, "") != "a\nb\n" {
				t.Errorf("progress was %q", progress)
			}
		})
	}
}

func TestN1ClientThatGivesUp(t *testing.T) {
	b := newBench(t)
	id := b.create()
	c := connect(t, b, mcp.ProtocolVersion20251125)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: "exec", Arguments: args{"sandbox_id": id, "command": "while true; do echo tick >> log; sleep 0.02; done"},
	}})
	if err == nil {
		t.Fatal("the call ended by itself")
	}
	waitFor(t, func() bool {
		before := b.sh(id, "cat log | wc -c")
		time.Sleep(100 * time.Millisecond)
		return b.sh(id, "cat log | wc -c") == before
	})
}
