package manager

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// TextDecoder turns chunks of bytes into text. A character that is split over
// chunks stays whole; what is not UTF-8 becomes U+FFFD, one for each maximal
// part of a character, as the Unicode Standard recommends.
type TextDecoder struct {
	utf8    transform.Transformer
	pending []byte // the begun character at the end of the last chunk
}

// NewTextDecoder returns a decoder for one stream.
func NewTextDecoder() *TextDecoder { return &TextDecoder{utf8: unicode.UTF8.NewDecoder()} }

// Decode gives the text that is complete with this chunk.
func (d *TextDecoder) Decode(chunk []byte) string { return string(d.decode(chunk, false)) }

// DecodeBytes is Decode without a copy: what is text already is given back as it
// is, and so valid no longer than chunk.
func (d *TextDecoder) DecodeBytes(chunk []byte) []byte { return d.decode(chunk, false) }

// Flush gives what is left at the end of the stream.
func (d *TextDecoder) Flush() string { return string(d.decode(nil, true)) }

func (d *TextDecoder) decode(chunk []byte, end bool) []byte {
	src := chunk
	if len(d.pending) > 0 {
		src = append(d.pending, chunk...)
		d.pending = nil
	}
	begun := 0
	if !end {
		begun = begunAtEnd(src)
	}
	if whole := src[:len(src)-begun]; utf8.Valid(whole) {
		d.pending = append([]byte(nil), src[len(whole):]...)
		return whole
	}
	var text bytes.Buffer
	var buf [4096]byte
	for {
		nDst, nSrc, err := d.utf8.Transform(buf[:], src, end)
		text.Write(buf[:nDst])
		src = src[nSrc:]
		if !errors.Is(err, transform.ErrShortDst) {
			break
		}
	}
	d.pending = append([]byte(nil), src...)
	return text.Bytes()
}

// begunAtEnd is how many bytes at the end of b are the beginning of a character.
func begunAtEnd(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// cutText is s up to n bytes, without cutting a character.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
