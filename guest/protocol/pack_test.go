package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/s2"
)

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestPack(t *testing.T) {
	buf := make([]byte, PackBuffer)
	text := strings.Repeat("some text that repeats itself, ", 3000)[:MaxPacked]
	for name, payload := range map[string][]byte{
		"text": []byte(text), "zeros": make([]byte, MaxPacked), "short": make([]byte, 100), "half noise": append(noise(MaxPacked/2), make([]byte, MaxPacked/2)...),
	} {
		f := Pack(buf, Stderr, payload)
		if f == nil || len(f) > len(payload)*7/8+FrameHeaderSize || len(f) < FrameHeaderSize+len(payload)/minShare {
			t.Errorf("%s: %d bytes for %d", name, len(f), len(payload))
		}
		for _, in := range []io.Reader{bytes.NewReader(f), iotest.OneByteReader(bytes.NewReader(f))} {
			r := NewFrameReader(in)
			s, p, err := r.Next()
			if err != nil || s != Stderr || !bytes.Equal(p, payload) {
				t.Errorf("%s: got %d bytes of %s, %v", name, len(p), s, err)
			}
			if _, _, err := r.Next(); err != io.EOF {
				t.Errorf("%s: then %v", name, err)
			}
		}
	}
	for name, payload := range map[string][]byte{"noise": noise(MaxPacked), "nothing": nil, "too much": make([]byte, MaxPacked+1)} {
		if f := Pack(buf, Stdout, payload); f != nil {
			t.Errorf("%s: packed to %d bytes", name, len(f))
		}
	}
}

// Packed frames merge with others, by what they stand for.
func TestPackedFramesMerge(t *testing.T) {
	buf := make([]byte, PackBuffer)
	var in []byte
	for range 3 {
		in = append(in, Pack(buf, Stdout, make([]byte, 20_000))...)
	}
	in = append(in, frame(Stdout, "plain")...)
	in = append(in, Pack(buf, Stdout, make([]byte, MaxPacked))...)
	r := NewFrameReader(bytes.NewReader(in))
	for _, want := range []int{60_005, MaxPacked} {
		if _, p, err := r.Next(); err != nil || len(p) != want {
			t.Errorf("got %d bytes, %v, want %d", len(p), err, want)
		}
	}
}

// packed is a packed frame that tells what it likes.
func packed(s Stream, block []byte, blockLen uint32) []byte {
	payload := append(binary.BigEndian.AppendUint32(nil, blockLen), block...)
	return frame(s|packedFlag, string(payload))
}

func TestBadPackedFrames(t *testing.T) {
	block := s2.Encode(nil, make([]byte, 1000))
	bomb := s2.Encode(nil, make([]byte, MaxPacked+1))
	n := uint32(len(block))
	for name, test := range map[string]struct {
		in   []byte
		want error
	}{
		"no length":         {frame(Stdout|packedFlag, "abc"), ErrMalformed},
		"block beyond it":   {packed(Stdout, block, n+1), ErrMalformed},
		"block cut":         {packed(Stdout, block, n-1), ErrMalformed},
		"no block":          {packed(Stdout, []byte("\xff\xff\xff\xff\xff\xff"), 6), ErrMalformed},
		"stands for a lot":  {packed(Stdout, bomb, uint32(len(bomb))), ErrMalformed},
		"a result":          {packed(Result, block, n), ErrMalformed},
		"longer than plain": {packed(Stdout, make([]byte, maxPackedFrame), n), ErrMalformed},
		"cut":               {packed(Stdout, block, n)[:12], io.ErrUnexpectedEOF},
	} {
		if _, _, err := NewFrameReader(bytes.NewReader(test.in)).Next(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
