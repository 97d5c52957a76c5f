package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/s2"
)

func frame(s Stream, payload string) []byte {
	b := append(make([]byte, FrameHeaderSize), payload...)
	PutFrameHeader(b, s, len(payload))
	return b
}

func TestFramesRoundTrip(t *testing.T) {
	in := append(append(frame(Stdout, "out"), frame(Stderr, "")...), frame(Result, "{}")...)
	r := NewFrameReader(bytes.NewReader(in))
	for _, want := range []struct {
		s Stream
		p string
	}{{Stdout, "out"}, {Stderr, ""}, {Result, "{}"}} {
		s, p, err := r.Next()
		if err != nil || s != want.s || string(p) != want.p {
			t.Errorf("got %v %q %v, want %v %q", s, p, err, want.s, want.p)
		}
	}
	if _, _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// What is here already comes as one, of one stream, and not too much.
func TestFramesMerge(t *testing.T) {
	var in []byte
	for _, f := range [][]byte{
		frame(Stdout, "a"), frame(Stdout, ""), frame(Stdout, "b"), frame(Stderr, "c"), frame(Stdout, "d"),
		frame(Stdout, strings.Repeat("e", FrameBuffer)), frame(Stdout, "f"), frame(Result, "{}"), frame(Result, "{}"),
	} {
		in = append(in, f...)
	}
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(in), "byte by byte": iotest.OneByteReader(bytes.NewReader(in))} {
		frames := NewFrameReader(r)
		var got [4]string
		calls := 0
		for {
			s, p, err := frames.Next()
			if err == io.EOF {
				break
			}
			if err != nil || s != Result && len(p) > FrameBuffer {
				t.Fatalf("%s: %d bytes, %v", name, len(p), err)
			}
			got[s] += string(p)
			calls++
		}
		if want := "abd" + strings.Repeat("e", FrameBuffer) + "f"; got[Stdout] != want || got[Stderr] != "c" || got[Result] != "{}{}" {
			t.Errorf("%s: got %.100q", name, got)
		}
		if want := map[string]int{"at once": 7, "byte by byte": 9}[name]; calls != want {
			t.Errorf("%s: %d frames, want %d", name, calls, want)
		}
	}
}

func TestBadFrames(t *testing.T) {
	long := make([]byte, FrameHeaderSize)
	PutFrameHeader(long, Stdout, MaxOutputFrame+1)
	for name, test := range map[string]struct {
		in   []byte
		want error
	}{
		"type":   {frame(9, "x"), ErrMalformed},
		"length": {long, ErrMalformed},
		"result": {frame(Result, strings.Repeat("x", MaxResultFrame+1)), ErrMalformed},
		"header": {[]byte{1, 0, 0}, io.ErrUnexpectedEOF},
		"body":   {frame(Stdout, "abc")[:6], io.ErrUnexpectedEOF},
		"empty":  {frame(Stdout, "abc")[:5], io.ErrUnexpectedEOF},
	} {
		if _, _, err := NewFrameReader(bytes.NewReader(test.in)).Next(); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}

func TestParams(t *testing.T) {
	in := ExecParams{Argv: []string{"a", "b"}, Dir: []byte("/\xff"), MaxStdout: -1}
	b, err := EncodeParams(in)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(append(b, "payload"...))
	var out ExecParams
	if err := DecodeParams(r, &out); err != nil || string(out.Dir) != "/\xff" || len(out.Argv) != 2 {
		t.Errorf("got %+v, %v", out, err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "payload" {
		t.Errorf("payload is %q", rest)
	}
	if _, err := EncodeParams(ExecParams{Argv: []string{strings.Repeat("x", MaxParams)}}); err == nil {
		t.Error("too large params are encoded")
	}
	huge := binary.BigEndian.AppendUint32(nil, MaxParams+1)
	if err := DecodeParams(bytes.NewReader(huge), &out); !errors.Is(err, ErrMalformed) {
		t.Errorf("too large params: %v", err)
	}
	if err := DecodeParams(bytes.NewReader(b[:len(b)-1]), &out); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut params: %v", err)
	}
}

// plainly reads frames as simply as can be: each byte of a payload, after the
// stream it is of.
func plainly(in []byte) (out []byte) {
	for len(in) >= FrameHeaderSize {
		s, n := in[0], binary.BigEndian.Uint32(in[1:])
		in = in[FrameHeaderSize:]
		if n > uint32(len(in)) {
			break
		}
		payload := in[:n]
		if s&byte(packedFlag) != 0 && n >= packedHead {
			block := payload[packedHead:]
			block = block[:min(binary.BigEndian.Uint32(payload), uint32(len(block)))]
			payload = nil
			if size, err := s2.DecodedLen(block); err == nil && size <= MaxPacked {
				payload, _ = s2.Decode(nil, block)
			}
		}
		for _, b := range payload {
			out = append(out, s&^byte(packedFlag), b)
		}
		in = in[n:]
	}
	return out
}

// FuzzFrames: a hostile stream of frames or parameters ends in an error or its
// end, never in more memory than a frame may have.
func FuzzFrames(f *testing.F) {
	f.Add(frame(Stdout, "hello"))
	f.Add(append(frame(Stderr, "x"), frame(Result, `{"exit_code":0}`)...))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Add(append(Pack(make([]byte, PackBuffer), Stdout, make([]byte, 500)), frame(Stdout, "x")...))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewFrameReader(bytes.NewReader(in))
		var got []byte
		for {
			s, p, err := r.Next()
			if err != nil {
				break
			}
			for _, b := range p {
				got = append(got, byte(s), b)
			}
		}
		if cap(r.buf) > MaxOutputFrame {
			t.Fatalf("buffer of %d bytes", cap(r.buf))
		}
		if !bytes.HasPrefix(plainly(in), got) {
			t.Fatalf("what came is not what was sent")
		}
		var params ExecParams
		DecodeParams(bytes.NewReader(in), &params)
	})
}
