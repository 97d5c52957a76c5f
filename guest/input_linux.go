package guest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// input is a job's standard input, open for as long as somebody may feed it.
type input struct {
	turn  slots // one call feeds at a time
	stdin *stdin
	ended bool // by the caller; under turn
}

func newInput(stdin *stdin) *input { return &input{turn: newSlots(1), stdin: stdin} }

// Why an input takes no more.
var (
	errNoInput    = &protocol.Error{Code: protocol.ErrConflict, Message: "the exec was started without an open standard input"}
	errInputEnded = &protocol.Error{Code: protocol.ErrConflict, Message: "the exec's standard input has been ended"}
	errNotReading = &protocol.Error{Code: protocol.ErrConflict, Message: "the command has closed its standard input"}
	errJobEnded   = &protocol.Error{Code: protocol.ErrConflict, Message: "the exec has ended"}
)

// feedJob serves PathInput.
func (g *guest) feedJob(w http.ResponseWriter, r *http.Request) error {
	var params protocol.InputParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	j, err := g.jobs.find(params.ID)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer g.patient.add(params.Call, func() {
		cancel()
		http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})()
	taken, err := j.feed(ctx, r.Body, params.End)
	result := protocol.InputResult{Taken: taken}
	if err != nil {
		result.Error = asError(err)
	}
	return answer(w, result)
}

// feed writes all of r into the command's pipe, when it is this call's turn.
func (j *job) feed(ctx context.Context, r io.Reader, end bool) (taken int64, err error) {
	in := j.input
	if in == nil {
		return 0, errNoInput
	}
	select {
	case in.turn <- struct{}{}:
		defer in.turn.release()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if isClosed(j.halted) {
		return 0, errJobEnded
	}
	if in.ended {
		return 0, errInputEnded
	}
	taken, err = in.copy(ctx, r)
	if err == nil && end {
		in.ended = in.stdin.terminal == nil
		err = in.stdin.end()
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && isClosed(j.halted):
		err = errJobEnded
	case errors.Is(err, unix.EPIPE):
		err = errNotReading
	}
	return taken, err
}

// copy ends early with ctx.
func (in *input) copy(ctx context.Context, r io.Reader) (taken int64, err error) {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		in.stdin.pipe.file.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	defer func() {
		if !stop() {
			<-interrupted
			in.stdin.pipe.file.SetWriteDeadline(time.Time{})
		}
	}()
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := r.Read(buf[:])
		written, werr := in.stdin.Write(buf[:n])
		taken += int64(written)
		switch {
		case werr != nil:
			return taken, werr
		case errors.Is(err, io.EOF):
			return taken, nil
		case err != nil:
			return taken, err
		}
	}
}

// patient knows the calls that wait for a command to read, for their callers to
// end them and still learn how much it has read.
type patient struct {
	mu    sync.Mutex
	calls map[string]func()
}

func (p *patient) add(call string, end func()) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil {
		p.calls = map[string]func(){}
	}
	p.calls[call] = end
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.calls, call)
	}
}

// end ends a call, which cannot return in the meantime: what is done to its
// response would hit another's.
func (p *patient) end(call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if end := p.calls[call]; end != nil {
		end()
	}
}

// enough serves PathEnough.
func (g *guest) enough(w http.ResponseWriter, r *http.Request) error {
	var params protocol.EnoughParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	g.patient.end(params.Call)
	return answer(w, struct{}{})
}
