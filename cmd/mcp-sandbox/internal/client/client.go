package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// maxAnswer bounds an answer that is kept in memory; the largest is the output of
// a command.
const maxAnswer = 256 << 20

// Client calls one server. It may be used by several goroutines.
type Client struct {
	Name string // of the server, for people; by default its URL
	base *url.URL
	http *http.Client
	key  string
}

// New is a client of the server at base, which is what comes before /v1. The key
// may be empty.
func New(base, key string, transport http.RoundTripper) (*Client, error) {
	u, err := ParseBase(base)
	if err != nil {
		return nil, err
	}
	return &Client{Name: u.String(), base: u, key: key, http: &http.Client{
		Transport: transport,
		// The API has none; following one would send the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// ParseBase reads the URL of a server.
func ParseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("must be a URL such as https://sandbox.example.com or http://127.0.0.1:8080")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("must have nothing but a scheme, a host and perhaps a path")
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1")
	return u, nil
}

// Close drops the connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Answer is a result, and the JSON that it came as.
type Answer[T any] struct {
	Value T
	JSON  json.RawMessage
}

// request is one call.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	json         any       // the body, or
	body         io.Reader // raw bytes
	length       int64     // of body; -1 when not known
}

// ask makes a call whose result is a T.
func ask[T any](ctx context.Context, c *Client, r request) (a Answer[T], err error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a.JSON, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return a, c.broken(ctx, r.method, err)
	}
	if len(a.JSON) > maxAnswer {
		return a, strange(fmt.Sprintf("the answer is larger than %d bytes", maxAnswer))
	}
	if err := json.Unmarshal(a.JSON, &a.Value); err != nil {
		return a, strange("the answer is not what it should be: " + err.Error())
	}
	return a, nil
}

// do makes a call that has no result.
func (c *Client) do(ctx context.Context, r request) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// send makes a call, up to the head of an answer that is no refusal. The body is
// the caller's to close.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	req, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, r.method, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, refused(resp)
	}
	return resp, nil
}

func (c *Client) newRequest(ctx context.Context, r request) (*http.Request, error) {
	u := *c.base
	u.Path += r.path
	u.RawQuery = r.query.Encode()
	body, length := r.body, r.length
	if r.json != nil {
		b, err := json.Marshal(r.json)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body, length = bytes.NewReader(b), int64(len(b))
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if body != nil && length >= 0 {
		req.ContentLength = length
		if length == 0 {
			req.Body = http.NoBody
		}
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	if r.json != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return req, nil
}

func sandboxPath(id schemas.SandboxID, rest string) string {
	return "/v1/sandboxes/" + string(id) + rest
}

func snapshotPath(id schemas.SnapshotID, rest string) string {
	return "/v1/snapshots/" + string(id) + rest
}
