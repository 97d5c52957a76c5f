package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
)

// reach is what every command for users has: which server it talks to, and how
// it says what comes of it.
//
// The server is the one at URL; or else the one that holds the data directory, by
// its local socket; or else this process, for as long as the command takes. Only
// then do the other settings count.
type reach struct {
	URL    string `name:"url" group:"server" form:"url" placeholder:"URL" help:"Server to talk to, as https://sandbox.example.com. Default: the server that runs on the data directory of this machine; where none does, this command is the server while it runs."`
	APIKey string `name:"api-key" group:"server" placeholder:"KEY" help:"Key for the server at URL. Prefer the variable: other users of this machine can read the command line."`

	Output  string `short:"o" oneof:"text,json" placeholder:"FORMAT" default:"text" help:"text, or json: what the server answered, as it is; an error is on standard error then."`
	Verbose bool   `short:"v" help:"Say on standard error which server this command talks to, and what it logs where it is the server itself."`

	settings
}

// connect finds a server. The client has to be closed.
func (r *reach) connect(ctx context.Context, e *env) (*link, error) {
	if r.URL != "" {
		return r.dial(e)
	}
	if err := r.complete(e); err != nil {
		return nil, err
	}
	return r.nearby(ctx, e)
}

// link is a way to a server.
type link struct {
	*client.Client
	who   string
	close func(context.Context) error
}

// dial goes to the server at URL. Whether there is one, the first call tells.
func (r *reach) dial(e *env) (*link, error) {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		// A connection that is dead is noticed, however long a command is silent.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	c, err := client.New(r.URL, r.APIKey, t)
	if err != nil {
		return nil, failure{exitUsage, fmt.Errorf("%s=%.200q: %w", e.args.name("url"), r.URL, err)}
	}
	if r.Verbose {
		fmt.Fprintln(e.stderr, "mcp-sandbox: using the server at", c.Name)
	}
	return &link{c, c.Name, func(context.Context) error { c.Close(); return nil }}, nil
}

func isURL(s string) bool {
	_, err := client.ParseBase(s)
	return err == nil
}

// explain adds to an error of the server's what only this side knows.
func (r *reach) explain(err error) error {
	var e *client.Error
	if errors.As(err, &e) && e.Status == http.StatusUnauthorized {
		e.Body.Hint = "Set AGENT_SANDBOX_API_KEY to a key of the server at " + r.URL + "."
	}
	return err
}
