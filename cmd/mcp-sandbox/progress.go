package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// progressAfter is how long something may take before it is spoken of.
	progressAfter = 500 * time.Millisecond
	progressEvery = 250 * time.Millisecond
)

// progress is one line on a terminal about something that takes long. It is
// gone when that is done.
type progress struct {
	w     io.Writer // nil: nobody would see it
	what  string
	begun time.Time
	bytes atomic.Int64
	quit  chan struct{}
	ended sync.WaitGroup
	once  sync.Once
}

// waiting makes a call that may take long.
func waiting[T any](e *env, what string, call func() (T, error)) (T, error) {
	p := e.progress(what)
	defer p.stop()
	return call()
}

// progress begins a line; stop must be called, before anything else is printed.
func (e *env) progress(what string) *progress {
	p := &progress{what: what, begun: time.Now(), quit: make(chan struct{})}
	term, _ := e.lookup("TERM")
	if isTerminal(e.stderr) && term != "dumb" {
		p.w = e.stderr
		p.ended.Go(p.run)
	}
	return p
}

func (p *progress) run() {
	select {
	case <-time.After(progressAfter):
	case <-p.quit:
		return
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		p.draw()
		select {
		case <-tick.C:
		case <-p.quit:
			fmt.Fprint(p.w, "\r\x1b[K")
			return
		}
	}
}

func (p *progress) draw() {
	size := ""
	if n := p.bytes.Load(); n > 0 {
		size = ", " + bytesText(n)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s, %s%s", p.what, short(time.Since(p.begun)), size)
}

// stop takes the line away. It may be called again.
func (p *progress) stop() {
	p.once.Do(func() { close(p.quit) })
	p.ended.Wait()
}

// reader counts what is read from r.
func (p *progress) reader(r io.Reader) io.Reader { return &countingReader{r, p} }

type countingReader struct {
	r io.Reader
	p *progress
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.p.bytes.Add(int64(n))
	return n, err
}
