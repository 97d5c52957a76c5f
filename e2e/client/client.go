// Package client drives an mcp-sandbox server the way its clients do: it starts
// the program and calls tools, over MCP on any of its transports, or over /v1,
// where each tool has its route. The tests and the demo share it.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Client is one connection to one server process.
type Client struct {
	*Process
	MCP  *client.Client // nil over REST
	Info *mcp.InitializeResult

	// Over HTTP:
	URL  string
	Key  string
	HTTP *http.Client

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
	c := &Client{Process: p, Key: o.Key, progress: map[string]func(Progress){}}
	if err := c.connect(ctx, o.Door, options); err != nil {
		p.Kill()
		return nil, fmt.Errorf("connect: %w\nserver log:\n%s", err, p.Log())
	}
	return c, nil
}

func (c *Client) connect(ctx context.Context, door Door, options []client.ClientOption) error {
	t, err := c.transport(door)
	if err != nil || t == nil {
		return err
	}
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

// transport is nil for REST, which needs none.
func (c *Client) transport(door Door) (transport.Interface, error) {
	if door.stdio() {
		lines := io.TeeReader(c.Stdout, &lineCheck{stray: c.addStray})
		return transport.NewIO(lines, c.Stdin, io.NopCloser(strings.NewReader(""))), nil
	}
	if c.URL == "" {
		var err error
		if c.URL, err = c.Address(); err != nil {
			return nil, err
		}
		c.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}}
	}
	header := map[string]string{"Authorization": "Bearer " + c.Key}
	switch door {
	case Streamable:
		return transport.NewStreamableHTTP(c.URL+"/mcp", transport.WithHTTPHeaders(header), transport.WithHTTPBasicClient(c.HTTP))
	case SSE:
		return transport.NewSSE(c.URL+"/sse", transport.WithHeaders(header), transport.WithHTTPClient(c.HTTP))
	default:
		return nil, nil
	}
}

// As is the same server over REST with another key.
func (c *Client) As(key string) *Client {
	return &Client{Process: c.Process, URL: c.URL, HTTP: c.HTTP, Key: key}
}

// Dial is another connection to the same server, by one of its HTTP doors.
func (c *Client) Dial(ctx context.Context, door Door, key string, options ...client.ClientOption) (*Client, error) {
	again := c.As(key)
	again.progress = map[string]func(Progress){}
	return again, again.connect(ctx, door, options)
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
	if c.MCP == nil {
		return c.callREST(ctx, tool, args, result)
	}
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

// Live runs exec and shows its output while it runs: news gets text as it comes,
// and is called in silence too, as a sign of life. The result has all output.
func (c *Client) Live(ctx context.Context, args any, news func(text string)) (r schemas.ExecResult, err error) {
	if c.MCP == nil {
		return c.stream(ctx, args, news)
	}
	raw, err := c.Raw(ctx, "exec", args, func(p Progress) { news(p.Message) })
	if err != nil {
		return r, err
	}
	return r, Decode("exec", raw, &r)
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
