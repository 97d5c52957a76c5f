// Package client drives an mcp-sandbox server the way an agent's client does:
// it starts the program, speaks MCP over its standard streams, and calls tools.
// The tests, the demo and the benchmark share it.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// Client is one MCP connection to one server process.
type Client struct {
	*Process
	MCP  *client.Client
	Info *mcp.InitializeResult

	tokens   atomic.Int64
	mu       sync.Mutex
	progress map[string]func(Progress)
	strays   []string
}

// Progress is one notice of a running call.
type Progress struct {
	Value   float64
	Message string
}

// Start launches a server and shakes hands with it.
func Start(ctx context.Context, o Options, options ...client.ClientOption) (*Client, error) {
	p, err := Launch(o)
	if err != nil {
		return nil, err
	}
	c := &Client{Process: p, progress: map[string]func(Progress){}}
	if err := c.connect(ctx, options); err != nil {
		p.Kill()
		return nil, fmt.Errorf("connect: %w\nserver log:\n%s", err, p.Log())
	}
	return c, nil
}

func (c *Client) connect(ctx context.Context, options []client.ClientOption) error {
	lines := io.TeeReader(c.Stdout, &lineCheck{stray: c.addStray})
	t := transport.NewIO(lines, c.Stdin, io.NopCloser(strings.NewReader("")))
	c.MCP = client.NewClient(t, options...)
	c.MCP.OnNotification(c.onNotification)
	if err := c.MCP.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	request := mcp.InitializeRequest{}
	request.Params.ClientInfo = mcp.Implementation{Name: "mcp-sandbox-e2e", Version: "1"}
	info, err := c.MCP.Initialize(ctx, request)
	c.Info = info
	return err
}

// Strays are the lines on standard output that were no JSON-RPC messages.
func (c *Client) Strays() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.strays...)
}

func (c *Client) addStray(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strays = append(c.strays, line)
}

// Call runs a tool and decodes its structured content into result, which may be
// nil. A result that the tool marks as an error is a [*ToolError].
func (c *Client) Call(ctx context.Context, tool string, args, result any) error {
	r, err := c.Raw(ctx, tool, args, nil)
	if err != nil {
		return err
	}
	return Decode(tool, r, result)
}

// Raw runs a tool and returns its result as it came. onProgress, when not nil,
// gets the call's progress notices in order.
func (c *Client) Raw(ctx context.Context, tool string, args any, onProgress func(Progress)) (*mcp.CallToolResult, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name = tool
	request.Params.Arguments = args
	if onProgress != nil {
		token := fmt.Sprint("progress-", c.tokens.Add(1))
		request.Params.Meta = &mcp.Meta{ProgressToken: token}
		c.listen(token, onProgress)
	}
	r, err := c.MCP.CallTool(ctx, request)
	if err == nil && onProgress != nil {
		// From now on a notice for this token is one too many. A call that was
		// given up may still have some on the way.
		c.listen(fmt.Sprint(request.Params.Meta.ProgressToken), nil)
	}
	return r, err
}

func (c *Client) listen(token string, f func(Progress)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f == nil {
		delete(c.progress, token)
		return
	}
	c.progress[token] = f
}

func (c *Client) onNotification(n mcp.JSONRPCNotification) {
	if n.Method != "notifications/progress" {
		return
	}
	fields := n.Params.AdditionalFields
	value, _ := fields["progress"].(float64)
	text, _ := fields["message"].(string)
	token := fmt.Sprint(fields["progressToken"])
	c.mu.Lock()
	f := c.progress[token]
	c.mu.Unlock()
	if f == nil {
		c.addStray("progress for an unknown token: " + token)
		return
	}
	f(Progress{Value: value, Message: text})
}

// lineCheck watches a stream of lines for what is no JSON-RPC message.
type lineCheck struct {
	stray func(string)
	line  []byte
}

func (l *lineCheck) Write(p []byte) (int, error) {
	l.line = append(l.line, p...)
	for {
		line, rest, found := bytes.Cut(l.line, []byte("\n"))
		if !found {
			return len(p), nil
		}
		if !isMessage(line) {
			l.stray(string(line))
		}
		l.line = append([]byte(nil), rest...)
	}
}

func isMessage(line []byte) bool {
	var m struct{ JSONRPC string }
	return json.Unmarshal(line, &m) == nil && m.JSONRPC == "2.0"
}

// Lines reads a server's output line by line, for tests that write JSON-RPC by
// hand.
func (p *Process) Lines() *bufio.Scanner {
	s := bufio.NewScanner(p.Stdout)
	s.Buffer(nil, 64<<20)
	return s
}
