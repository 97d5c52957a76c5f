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
