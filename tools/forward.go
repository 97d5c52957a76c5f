package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// Forwarder serves a client by a server in another process, and when that has
// gone, by the next one. A client notices nothing of it but this: a call of a tool
// that ran when its server went is answered as one that may be tried again. No
// call is ever sent twice. Requests that change nothing are, since nobody can
// tell; and so is the handshake of protocol versions that have one. All else that
// a connection has with a server is the calls that run on it, so there is nothing
// more to restore.
//
// Requests that come while there is no server wait, but not for ever: after
// Patience they are refused until there is one. A server that is there and does
// not answer is waited for as long as the client does.
type Forwarder struct {
	// Reconnect tries once to reach the next server.
	Reconnect func(context.Context) (Link, error)
	Patience  time.Duration
	Log       *slog.Logger
}

// Run copies messages between the client, behind in and out, and link, until in
// ends, out breaks or ctx is done; the server is then given the time that it takes
// to end what runs. It returns nil when the client or ctx ended it, and may then
// leave a goroutine behind that waits for in.
func (f *Forwarder) Run(ctx context.Context, link Link, in io.Reader, out io.Writer) error {
	r := &relay{
		Forwarder: f,
		unread:    unreadOf(out),
		broken:    make(chan struct{}),
		lines:     make(chan []byte, maxInFlight),
		ended:     make(chan struct{}),
		pending:   map[string]*request{},
	}
	r.out = &lineWriter{w: out, failed: func() { close(r.broken) }}
	quit := make(chan struct{})
	defer close(quit)
	go r.readClient(in, quit)

	for u := newUpstream(link); u != nil; u = r.reconnect(ctx) {
		over, err := r.attend(ctx, u)
		r.settle()
		if over {
			r.refuse(r.first...)
			return err
		}
	}
	// The client ended while there was no server.
	r.refuse(r.first...)
	for {
		select {
		case line, ok := <-r.lines:
			if ok {
				r.refuse(line)
				continue
			}
			return r.inErr
		default:
			return r.out.broken()
		}
	}
}

// relay is a [Forwarder] at work.
type relay struct {
	*Forwarder
	out    *lineWriter
	unread func() int    // see listener
	broken chan struct{} // closed when out is

	lines chan []byte   // what the client says; closed behind the last
	ended chan struct{} // closed when the client's input has; there may be lines left
	inErr error         // why; set before both are closed

	// first is what a server has to be told before lines.
	first [][]byte

	mu      sync.Mutex
	pending map[string]*request // by ID: sent, and neither answered nor cancelled
	serial  int
	hello   *request // the handshake, if there was one
	greeted bool     // it was answered
	ready   []byte   // and the client has taken note
}

// upstream is a link that is read by lines.
type upstream struct {
	Link
	r *bufio.Reader
}

func newUpstream(l Link) *upstream { return &upstream{l, bufio.NewReaderSize(l, 64<<10)} }

// readClient takes lines from the client until its input ends.
func (r *relay) readClient(in io.Reader, quit <-chan struct{}) {
	defer close(r.lines)
	defer close(r.ended)
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines, maxLine)
		switch {
		case errors.Is(err, errLineTooLong):
			r.write(rpcError(nil, mcp.PARSE_ERROR, fmt.Sprintf("message is longer than %d bytes", maxLine)))
			continue
		case err == io.EOF:
			return
		case err != nil:
			r.inErr = fmt.Errorf("read: %w", err)
			return
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		select {
		case r.lines <- line:
		case <-quit:
			return
		}
	}
}

// attend copies messages both ways while there is this server. over tells that
// the client has ended, and err why.
func (r *relay) attend(ctx context.Context, u *upstream) (over bool, err error) {
	defer u.Close()
	gone, leaving := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		r.receive(u, sync.OnceFunc(func() { close(leaving) }))
	}()
	over, err = r.tell(ctx, u, gone, leaving)
	// Nothing more is said, but what was asked may still be answered.
	_ = u.CloseWrite()
	if over && r.idle() { // not even a server that hangs is waited for
		u.Close()
	}
	select {
	case <-gone:
	case <-r.broken:
		u.Close()
		<-gone
	}
	return over, err
}

// tell sends what the client says, until there is no one to tell it to or no more
// to tell.
func (r *relay) tell(ctx context.Context, u *upstream, gone, leaving <-chan struct{}) (over bool, err error) {
	for len(r.first) > 0 {
		line := r.first[0]
		r.first = r.first[1:]
		if !r.send(u, line) {
			return false, nil
		}
	}
	for {
		select {
		case <-gone:
			return false, nil
		case <-leaving:
			return false, nil
		case <-r.broken:
			return true, fmt.Errorf("write: %w", r.out.broken())
		case <-ctx.Done():
			return true, nil
		case line, ok := <-r.lines:
			if !ok {
				return true, r.inErr
			}
			if !r.send(u, line) {
				return false, nil
			}
		}
	}
}

// send tells whether it could. What got nowhere at all is kept for the next server.
func (r *relay) send(u *upstream, line []byte) bool {
	line = withEnd(line)
	h := readHeader(line)
	r.note(h, line)
	n, err := u.Write(line)
	if err != nil && n == 0 {
		r.forget(h.ID)
		r.first = append([][]byte{line}, r.first...)
	}
	return err == nil
}

// receive passes on what the server says, until it ends.
func (r *relay) receive(u *upstream, leaving func()) {
	for {
		line, err := readLine(u.r, maxLine)
		if err != nil {
			r.Log.Debug("the link has ended", "error", err)
			return
		}
		h, whole := readWhole(line)
		switch {
		case !whole:
			return // it died with this on its lips
		case h.Method == leavingMethod:
			leaving()
		default:
			r.pass(h, line)
		}
	}
}

// withEnd is for the last line of a stream, which may lack it.
func withEnd(line []byte) []byte {
	if bytes.HasSuffix(line, []byte("\n")) {
		return line
	}
	return append(line, '\n')
}
