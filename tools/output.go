package tools

import (
	"encoding/base64"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// output collects what a command writes, within what its caller wants to read.
// structuredContent and text show the same of it: many clients give their model
// only one of the two.
type output struct {
	stdout, stderr *headTail
	limit          int // bytes of each
	encoding       schemas.Encoding
	drops          int64 // bytes of both that could not be had
}

func newOutput(limit int, e schemas.Encoding) *output {
	if e == schemas.EncodingBase64 { // a line in the middle would make it undecodable
		return &output{stdout: newHead(limit), stderr: newHead(limit), limit: limit, encoding: e}
	}
	return &output{stdout: newHeadTail(limit), stderr: newHeadTail(limit), limit: limit, encoding: schemas.EncodingUTF8}
}

func (o *output) add(s schemas.Stream, chunk []byte) {
	if s == schemas.Stderr {
		o.stderr.add(chunk)
	} else {
		o.stdout.add(chunk)
	}
}

// addAfter takes a chunk before which bytes were dropped.
func (o *output) addAfter(s schemas.Stream, dropped int64, chunk []byte) {
	h := o.stdout
	if s == schemas.Stderr {
		h = o.stderr
	}
	h.skip(dropped)
	o.drops += dropped
	o.add(s, chunk)
}

// rendered is a stream as a caller gets it.
type rendered struct {
	text      string
	truncated bool
}

// chars is what both streams may weigh together.
func (o *output) chars() int {
	if o.limit > defaultStreamBytes { // asked for, so worth more than clients take by default
		return min(3*o.limit, maxExecChars)
	}
	return execChars
}

// render fits both streams into what they may weigh. What one does not need the
// other may have.
func (o *output) render() (stdout, stderr rendered) {
	chars := o.chars()
	a, b := o.stream(o.stdout, chars), o.stream(o.stderr, chars)
	if na, nb := jsonLen(a.text), jsonLen(b.text); na+nb > chars {
		a = o.stream(o.stdout, max(chars/2, chars-nb))
		b = o.stream(o.stderr, max(chars/2, chars-na))
	}
	return a, b
}

func (o *output) stream(h *headTail, chars int) rendered {
	if o.encoding == schemas.EncodingBase64 {
		raw, _ := h.parts()
		raw = raw[:min(len(raw), chars/4*3)]
		return rendered{base64.StdEncoding.EncodeToString(raw), int64(len(raw)) < h.total}
	}
	s, truncated := h.text(budget{o.limit, chars})
	return rendered{s, truncated}
}
