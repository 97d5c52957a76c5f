package guest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// pump reads standard input until it ends. Everything goes to the running
// session, the bytes of a greeting included, for a session that gets them is
// about to be replaced; holding them back until they are known to be none could
// hold back the last byte of a request for ever.
func (g *guest) pump() {
	var scanner protocol.Scanner
	var current *session
	buf := make([]byte, 64<<10)
	for {
		n, err := g.input.Read(buf)
		for p := buf[:n]; len(p) > 0; {
			k, nonce, found := scanner.Scan(p)
			if found {
				current = g.replace(current, protocol.Answer(scanner.Key(), nonce))
			} else {
				current.feed(p[:k])
			}
			p = p[k:]
		}
		if err != nil {
			return
		}
	}
}

// replace ends the session old, if there is one, and begins another. The order
// keeps the two apart: old can write no more, its calls have ended (or have had
// their time to), then comes the answer, then the new session's first byte.
func (g *guest) replace(old *session, answer []byte) *session {
	g.output.fence()
	if old != nil {
		old.Close()
		old.waitForCalls()
	}
	g.output.pipe.Write(answer)
	s := newSession(g.output)
	g.server.accept(s)
	return s
}

// output is standard output, which belongs to one session at a time.
type output struct {
	pipe  *pipeEnd
	mu    sync.Mutex // held during a write
	owner *session   // under ownerMu
	ownMu sync.Mutex
}

// fence takes the output from its owner and returns when the owner's last write
// has ended; one that waits for a reader is broken off.
func (o *output) fence() {
	o.own(nil)
	o.pipe.file.SetWriteDeadline(time.Unix(1, 0))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pipe.file.SetWriteDeadline(time.Time{})
}

func (o *output) own(s *session) {
	o.ownMu.Lock()
	defer o.ownMu.Unlock()
	o.owner = s
}

func (o *output) belongsTo(s *session) bool {
	o.ownMu.Lock()
	defer o.ownMu.Unlock()
	return o.owner == s
}

var errFenced = errors.New("another session has begun")

func (o *output) write(s *session, p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.belongsTo(s) {
		return 0, errFenced
	}
	return o.pipe.Write(p)
}

// session is the net.Conn of one attached server.
type session struct {
	in     *io.PipeReader
	source *io.PipeWriter
	out    *output
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex
	over  bool
	calls sync.WaitGroup // under mu for adding
}

func newSession(out *output) *session {
	s := &session{out: out}
	s.in, s.source = io.Pipe()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	out.own(s)
	return s
}

// feed hands input to the session and waits until it is taken. The HTTP/2
// server always takes it, since flow control bounds what a peer may send; once
// the session is over it goes nowhere.
func (s *session) feed(p []byte) {
	if s != nil {
		s.source.Write(p)
	}
}

// lastWords is how long a session's calls may take to end when it is replaced;
// a kill needs less.
const lastWords = 3 * time.Second

// enter begins a call, unless the session is over.
func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.calls.Add(1)
	}
	return !s.over
}

func (s *session) waitForCalls() {
	ended := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(lastWords):
	}
}

func (s *session) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *session) Write(p []byte) (int, error) { return s.out.write(s, p) }

// Close ends the session: its reads fail, and with them all of its calls.
func (s *session) Close() error {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.cancel()
	return s.in.CloseWithError(errFenced)
}

func (s *session) LocalAddr() net.Addr              { return &net.UnixAddr{Name: "stdio"} }
func (s *session) RemoteAddr() net.Addr             { return &net.UnixAddr{Name: "stdio"} }
func (s *session) SetDeadline(time.Time) error      { return nil }
func (s *session) SetReadDeadline(time.Time) error  { return nil }
func (s *session) SetWriteDeadline(time.Time) error { return nil }
