package tools

import "io"

// Link is a connection to a server, at whose other end is [ServePeer].
type Link interface {
	io.ReadWriteCloser
	// CloseWrite tells the other end that nothing more will come.
	CloseWrite() error
}

// Pipe is a link within this process: its two ends.
func Pipe() (Link, Link) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return &pipe{r1, w2}, &pipe{r2, w1}
}

type pipe struct {
	*io.PipeReader
	w *io.PipeWriter
}

func (p *pipe) Write(b []byte) (int, error) { return p.w.Write(b) }

func (p *pipe) CloseWrite() error { return p.w.Close() }

func (p *pipe) Close() error {
	_ = p.w.Close()
	return p.PipeReader.Close()
}
