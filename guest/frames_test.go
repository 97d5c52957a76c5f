//go:build linux

package guest

import (
	"bytes"
	"net/http/httptest"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Frames are packed for a server that asks for it, where that makes them smaller;
// for one of an older release they never are.
func TestFramesArePackedWhereAsked(t *testing.T) {
	text, noise := bytes.Repeat([]byte("all work and no play\n"), 1000), random(20_000)
	for _, test := range []struct {
		packs   bool
		payload []byte
		smaller bool
	}{{false, text, false}, {true, text, true}, {true, noise, false}, {true, []byte("short"), false}} {
		r := httptest.NewRecorder()
		out := newFrameWriter(r, test.packs)
		check(t, out.write(protocol.Stdout, append(make([]byte, protocol.FrameHeaderSize), test.payload...)))
		check(t, out.flush())
		if got := r.Body.Len() < len(test.payload); got != test.smaller {
			t.Errorf("packs %v: %d bytes for %d", test.packs, r.Body.Len(), len(test.payload))
		}
		s, p, err := protocol.NewFrameReader(r.Body).Next()
		if err != nil || s != protocol.Stdout || !bytes.Equal(p, test.payload) {
			t.Errorf("packs %v: got %d bytes of %s, %v", test.packs, len(p), s, err)
		}
	}
}

// After something that cannot be packed it is not tried for a while, and then is.
func TestPackingIsTriedAgain(t *testing.T) {
	r := httptest.NewRecorder()
	out := newFrameWriter(r, true)
	send := func(payload []byte) (sent int) {
		before := r.Body.Len()
		check(t, out.write(protocol.Stdout, append(make([]byte, protocol.FrameHeaderSize), payload...)))
		check(t, out.flush())
		return r.Body.Len() - before
	}
	send(random(20_000))
	for range plainFrames {
		if n := send(make([]byte, 20_000)); n != protocol.FrameHeaderSize+20_000 {
			t.Errorf("sent %d bytes", n)
		}
	}
	if n := send(make([]byte, 20_000)); n > 10_000 {
		t.Errorf("then sent %d bytes", n)
	}
}

// Packed frames wait for others or for flush, anything else goes at once, and
// all in order.
func TestPackedFramesWait(t *testing.T) {
	r := httptest.NewRecorder()
	out := newFrameWriter(r, true)
	frame := func(payload []byte) []byte { return append(make([]byte, protocol.FrameHeaderSize), payload...) }
	check(t, out.flush())
	if r.Flushed {
		t.Error("sent the head of a response with nothing in it")
	}
	sent, zeros := 0, make([]byte, protocol.MaxPacked)
	for r.Body.Len() == 0 {
		if sent++; sent > 8*maxWaiting/len(zeros)+1 {
			t.Fatalf("%d packed frames wait", sent)
		}
		check(t, out.write(protocol.Stdout, frame(zeros)))
	}
	if sent < 2 || !r.Flushed {
		t.Errorf("sent after %d packed frames, flushed: %v", sent, r.Flushed)
	}
	check(t, out.write(protocol.Stdout, frame(zeros)))
	check(t, out.write(protocol.Stderr, frame([]byte("short"))))
	check(t, out.write(protocol.Stdout, frame(zeros)))
	check(t, out.result(protocol.ExecResult{}))
	frames := protocol.NewFrameReader(r.Body)
	for _, want := range []struct {
		s    protocol.Stream
		size int
	}{{protocol.Stdout, (sent + 1) * len(zeros)}, {protocol.Stderr, 5}, {protocol.Stdout, len(zeros)}, {protocol.Result, 0}} {
		for got := 0; got < max(want.size, 1); {
			s, p, err := frames.Next()
			if got += len(p); err != nil || s != want.s || want.size > 0 && got > want.size {
				t.Fatalf("got %d bytes of %s, %v, want %d of %s", got, s, err, want.size, want.s)
			}
		}
	}
}

// What waits when a response ends otherwise goes nowhere.
func TestWaitingFramesEndWithTheResponse(t *testing.T) {
	r := httptest.NewRecorder()
	out := newFrameWriter(r, true)
	check(t, out.write(protocol.Stdout, make([]byte, protocol.FrameHeaderSize+20_000)))
	out.close()
	if err := out.flush(); err != errAnswered || r.Body.Len() > 0 {
		t.Errorf("flush: %v, sent %d bytes", err, r.Body.Len())
	}
}
