package guest

import (
	"errors"
	"io"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// keptInput is an input that is given whole with the start: read ahead as far as
// a ring has room, so that the call need not last until the command has read it.
type keptInput struct {
	tape   *tape // done: it is all here, or the command wants no more
	reader *reader
}

func (g *guest) newKeptInput() (*keptInput, error) {
	t, err := newTape(1, g.jobs.ringSize)
	if err != nil {
		return nil, err
	}
	r, _ := t.open([2]int64{}, true)
	return &keptInput{t, r}, nil
}

// take reads body. One that breaks off has no end, see [feed].
func (k *keptInput) take(body io.Reader) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if k.tape.put(0, buf[:n]) != nil {
			return
		}
		if errors.Is(err, io.EOF) {
			k.tape.end(protocol.ExecResult{})
		}
		if err != nil {
			return
		}
	}
}

// feed gives it to the command, and then its end, until that is over.
func (k *keptInput) feed(stdin *stdin, over <-chan struct{}) {
	defer k.tape.erase()
	for {
		some, last, news := k.reader.look()
		switch {
		case some:
			if !k.move(stdin) {
				return
			}
		case last:
			stdin.end()
			return
		default:
			select {
			case <-news:
			case <-over:
				return
			}
		}
	}
}

func (k *keptInput) move(stdin *stdin) bool {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	n := k.reader.read(0, buf[:])
	if _, err := stdin.Write(buf[:n]); err != nil {
		return false
	}
	k.reader.pass(0, n)
	return true
}
