package faultproxy

import (
	"net"
	"net/http"
)

// wire is a client's connection.
type wire struct {
	net.Conn
	p      *Proxy
	stream bool // it belongs to an attached container
}

type listener struct {
	net.Listener
	p *Proxy
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, p: l.p}
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.p.wires[w] = true
	return w, nil
}

// noteState learns which connections become streams.
func (p *Proxy) noteState(c net.Conn, s http.ConnState) {
	if s == http.StateHijacked {
		p.mu.Lock()
		defer p.mu.Unlock()
		c.(*wire).stream = true
	}
}

// Freeze stops passing bytes on, either way and on every connection, as a
// daemon does that is stopped or swaps.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
		p.thawed = make(chan struct{})
	default:
	}
}

// Thaw ends Freeze; what was held up goes on.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.thawed:
	default:
		close(p.thawed)
	}
}

// CutStreams closes the streams of attached containers.
func (p *Proxy) CutStreams() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutLocked()
}

// CutStreamsAfter closes the streams of attached containers, those opened later
// too, once so many bytes went over all of them together; from then on each stream
// at its first byte, unless it is to happen only once.
func (p *Proxy) CutStreamsAfter(bytes int64, once bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = &budget{bytes, once}
}

// budget is how many bytes streams may still pass.
type budget struct {
	left int64
	once bool
}

func (p *Proxy) cutLocked() {
	for w := range p.wires {
		if w.stream {
			w.Conn.Close()
			delete(p.wires, w)
		}
	}
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	<-w.flow()
	w.spend(n)
	return n, err
}

func (w *wire) Write(b []byte) (int, error) {
	<-w.flow()
	w.spend(len(b))
	return w.Conn.Write(b)
}

func (w *wire) flow() <-chan struct{} {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.p.thawed
}

// spend counts bytes of a stream, before they are passed on.
func (w *wire) spend(n int) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	b := w.p.budget
	if !w.stream || b == nil {
		return
	}
	if b.left -= int64(n); b.left >= 0 {
		return
	}
	w.p.cutLocked()
	w.Conn.Close()
	if b.once {
		w.p.budget = nil
	}
}

// CloseWrite passes a half-close on.
func (w *wire) CloseWrite() error {
	if half, ok := w.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (w *wire) Close() error {
	w.p.mu.Lock()
	delete(w.p.wires, w)
	w.p.mu.Unlock()
	return w.Conn.Close()
}
