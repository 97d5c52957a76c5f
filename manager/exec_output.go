package manager

import (
	"encoding/base64"
	"slices"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// output keeps the first bytes of both streams of a buffered exec.
type output struct {
	limit          int64
	stdout, stderr []byte
}

func newOutput(limit int64) *output { return &output{limit: limit} }

// emit keeps what fits. The guest has the cap too, but it is not trusted with
// the server's memory.
func (o *output) emit(s schemas.Stream, chunk []byte) error {
	kept := &o.stdout
	if s == schemas.Stderr {
		kept = &o.stderr
	}
	room := o.limit - int64(len(*kept))
	chunk = chunk[:min(room, int64(len(chunk)))]
	if need := len(*kept) + len(chunk); need > cap(*kept) {
		// To the double each time: append does so for small slices only.
		*kept = slices.Grow(*kept, int(min(o.limit, max(2*int64(cap(*kept)), int64(need))))-len(*kept))
	}
	*kept = append(*kept, chunk...)
	return nil
}

func (o *output) result(e Exit, encoding schemas.Encoding) schemas.ExecResult {
	exit := exitOf(e)
	r := schemas.ExecResult{
		ExitCode: exit.ExitCode, Signal: exit.Signal, TimedOut: exit.TimedOut, OOMKilled: exit.OOMKilled,
		StdoutBytes: exit.StdoutBytes, StderrBytes: exit.StderrBytes, DurationMS: exit.DurationMS, Encoding: encoding,
	}
	r.Stdout, r.StdoutTruncated = render(o.stdout, e.StdoutBytes, o.limit, encoding)
	r.Stderr, r.StderrTruncated = render(o.stderr, e.StderrBytes, o.limit, encoding)
	r.Truncated = r.StdoutTruncated || r.StderrTruncated
	return r
}

// render puts the kept bytes of a stream into a JSON string. As text it is never
// longer than the cap either, though each invalid byte grows to three, and a
// character that the cap has cut is left out.
func render(kept []byte, total, limit int64, encoding schemas.Encoding) (text string, truncated bool) {
	truncated = total > int64(len(kept))
	if encoding == schemas.EncodingBase64 {
		return base64.StdEncoding.EncodeToString(kept), truncated
	}
	d := NewTextDecoder()
	text = d.Decode(kept)
	if !truncated {
		text += d.Flush()
	}
	if int64(len(text)) > limit {
		return cutText(text, int(limit)), true
	}
	return text, truncated
}
