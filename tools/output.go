package tools

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// output collects what a command writes, within what its caller wants to read.
// structuredContent and text show the same of it: many clients give their model
// only one of the two.
type output struct {
	stdout, stderr *headTail
	limit          int // bytes of each
	encoding       schemas.Encoding
	timeout        string // the limit that the command has, in words
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

// result is the command's end with its output, and the same as text.
func (o *output) result(x schemas.ExecExit) (schemas.ExecResult, string) {
	stdout, stderr := o.render()
	return schemas.ExecResult{
		Stdout: stdout.text, Stderr: stderr.text,
		ExitCode: x.ExitCode, Signal: x.Signal, TimedOut: x.TimedOut, OOMKilled: x.OOMKilled,
		Truncated:       stdout.truncated || stderr.truncated,
		StdoutTruncated: stdout.truncated, StderrTruncated: stderr.truncated,
		StdoutBytes: o.stdout.total, StderrBytes: o.stderr.total,
		DurationMS: x.DurationMS, Encoding: o.encoding,
	}, o.text(x, stdout, stderr)
}

// text says how the command ended, and what it wrote.
func (o *output) text(x schemas.ExecExit, stdout, stderr rendered) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s after %d ms\n", o.ending(x), x.DurationMS)
	o.section(&b, "stdout", stdout, o.stdout.total)
	o.section(&b, "stderr", stderr, o.stderr.total)
	if o.stdout.total+o.stderr.total == 0 {
		b.WriteString("no output\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (o *output) section(b *strings.Builder, name string, r rendered, total int64) {
	if total == 0 {
		return
	}
	fmt.Fprintf(b, "--- %s", name)
	if o.encoding == schemas.EncodingBase64 {
		b.WriteString(", base64")
	}
	if r.truncated {
		fmt.Fprintf(b, ", truncated, %s in all", bytesOf(total))
	}
	b.WriteString(" ---\n")
	b.WriteString(r.text)
	if !strings.HasSuffix(r.text, "\n") {
		b.WriteByte('\n')
	}
}

func (o *output) ending(x schemas.ExecExit) string {
	s := fmt.Sprintf("exit code %d", x.ExitCode)
	switch {
	case x.TimedOut:
		s += fmt.Sprintf(": killed because its timeout_seconds (%s) passed,", o.timeout)
	case x.OOMKilled:
		s += ": a process was killed for lack of memory,"
	case x.Signal != nil:
		s += ": ended by " + *x.Signal
	}
	return s
}
