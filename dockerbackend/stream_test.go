package dockerbackend

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

func TestStreamUndoesFraming(t *testing.T) {
	var wire bytes.Buffer
	frame := func(kind byte, text string) {
		header := make([]byte, 8)
		header[0] = kind
		binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
		wire.Write(header)
		wire.WriteString(text)
	}
	frame(1, "hello ")
	frame(2, strings.Repeat("noise", 100000))
	frame(1, "")
	frame(1, "world")
	var logs bytes.Buffer
	s := newStream(&oneWay{Reader: iotest.OneByteReader(bytes.NewReader(wire.Bytes()))}, slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	got, err := io.ReadAll(s)
	if err != nil || string(got) != "hello world" {
		t.Errorf("got %q, %v", got, err)
	}
	if n := logs.Len(); n == 0 || n > 2*maxStderr {
		t.Errorf("%d bytes logged", n)
	}
	cut := newStream(&oneWay{Reader: bytes.NewReader(wire.Bytes()[:10])}, slog.New(slog.DiscardHandler))
	if got, err := io.ReadAll(cut); string(got) != "he" || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v", got, err)
	}
}

type oneWay struct {
	net.Conn
	io.Reader
}

func (o *oneWay) Read(p []byte) (int, error) { return o.Reader.Read(p) }

func (o *oneWay) Close() error { return nil }
