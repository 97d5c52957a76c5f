package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	streamPath     = "/local/stdio"
	streamProtocol = "mcp-stdio"
)

// Stream is a connection as a stream of bytes each way.
type Stream struct {
	*net.UnixConn
	r     *bufio.Reader // what came early is in it
	About About         // the server; not set at its own end
}

// Read reads from the other end.
func (s *Stream) Read(p []byte) (int, error) { return s.r.Read(p) }

// Connect opens a stream to the server that holds a data directory, on which it
// speaks MCP, one message a line. Where there is no server the error is [ErrNone];
// ctx bounds the opening only.
func Connect(ctx context.Context, dataDir string) (*Stream, error) {
	c, err := Dial(ctx, dataDir)
	if err != nil {
		return nil, err
	}
	// Whatever ends ctx ends the reads and writes below.
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	s, err := upgrade(c)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("open stream on local socket: %w", errors.Join(context.Cause(ctx), err))
	}
	return s, nil
}

func upgrade(c *net.UnixConn) (*Stream, error) {
	req, err := http.NewRequest(http.MethodGet, BaseURL+streamPath, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", streamProtocol)
	if err := req.Write(c); err != nil {
		return nil, err
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("the server says %s", resp.Status)
	}
	about, _ := From(resp.Header)
	return &Stream{c, r, about}, nil
}

// accept is the server's end of [Connect]. After it fails an answer was written.
func accept(w http.ResponseWriter, r *http.Request) (*Stream, error) {
	if r.Header.Get("Upgrade") != streamProtocol {
		w.Header().Set("Upgrade", streamProtocol)
		http.Error(w, "this is for an upgrade to "+streamProtocol, http.StatusUpgradeRequired)
		return nil, errors.New("no upgrade was asked for")
	}
	head := w.Header().Clone()
	head.Set("Connection", "Upgrade")
	head.Set("Upgrade", streamProtocol)
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot become a stream", http.StatusInternalServerError)
		return nil, fmt.Errorf("take over connection: %w", err)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("take over connection: it is a %T", c)
	}
	resp := http.Response{StatusCode: http.StatusSwitchingProtocols, ProtoMajor: 1, ProtoMinor: 1, Header: head}
	if err := resp.Write(uc); err != nil {
		c.Close()
		return nil, fmt.Errorf("accept stream: %w", err)
	}
	return &Stream{UnixConn: uc, r: rw.Reader}, nil
}
