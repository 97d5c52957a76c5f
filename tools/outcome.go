package tools

import (
	"fmt"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// report is what is to be said of a command: its output, how it is, and how to go
// on.
type report struct {
	*output
	stdout, stderr rendered

	info  schemas.ExecInfo
	told  bool   // the caller knows it as a background command
	next  string // cursor to go on from, of one that runs or is told
	whole string // what the output is part of, as "in all"
	limit string // its timeout, in words; "" when nobody knows
}

// outcome is the report as a result, and the same as text.
func (r *report) outcome() (schemas.ExecOutcome, string) {
	r.stdout, r.stderr = r.render()
	x := schemas.ExecOutcome{
		Stdout: r.stdout.text, Stderr: r.stderr.text,
		ExitCode: r.info.ExitCode, Signal: r.info.Signal, TimedOut: r.info.TimedOut, OOMKilled: r.info.OOMKilled,
		Truncated:       r.stdout.truncated || r.stderr.truncated,
		StdoutTruncated: r.stdout.truncated, StderrTruncated: r.stderr.truncated,
		StdoutBytes: r.info.StdoutBytes, StderrBytes: r.info.StderrBytes,
		DurationMS: r.info.DurationMS, Encoding: r.encoding,
	}
	if r.told {
		x.Status, x.ExecID, x.Cursor = &r.info.Status, &r.info.ExecID, &r.next
	}
	if r.drops > 0 {
		x.DroppedBytes = &r.drops
	}
	return x, r.text()
}

// text says how the command is, and what it wrote.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s after %d ms\n", r.ending(), r.info.DurationMS)
	r.section(&b, "stdout", r.stdout, r.output.stdout.total)
	r.section(&b, "stderr", r.stderr, r.output.stderr.total)
	if r.output.stdout.total+r.output.stderr.total == 0 {
		b.WriteString("no output\n")
	}
	if r.drops > 0 {
		fmt.Fprintf(&b, "%s came too fast or too long ago to be kept.\n", bytesOf(r.drops))
	}
	if r.told {
		b.WriteString(r.goOn())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *report) section(b *strings.Builder, name string, s rendered, total int64) {
	if total == 0 {
		return
	}
	fmt.Fprintf(b, "--- %s", name)
	if r.encoding == schemas.EncodingBase64 {
		b.WriteString(", base64")
	}
	if s.truncated {
		fmt.Fprintf(b, ", truncated, %s %s", bytesOf(total), r.whole)
	}
	b.WriteString(" ---\n")
	b.WriteString(s.text)
	if !strings.HasSuffix(s.text, "\n") {
		b.WriteByte('\n')
	}
}

func (r *report) ending() string {
	if r.info.Status == schemas.ExecRunning {
		return "still running"
	}
	s := fmt.Sprintf("exit code %d", *r.info.ExitCode)
	switch {
	case *r.info.TimedOut && r.limit != "":
		s += fmt.Sprintf(": killed because its timeout_seconds (%s) passed,", r.limit)
	case *r.info.TimedOut:
		s += ": killed because its timeout_seconds passed,"
	case *r.info.OOMKilled:
		s += ": a process was killed for lack of memory,"
	case r.info.Signal != nil:
		s += ": ended by " + *r.info.Signal
	}
	return s
}

// goOn says what can be done about a background command.
func (r *report) goOn() string {
	if r.info.Status == schemas.ExecExited {
		return ""
	}
	return fmt.Sprintf("It goes on in the background as exec_id %s: exec_poll with cursor %q for more, exec_kill to end it.", r.info.ExecID, r.next)
}

// exited is an exec's end as that of a background one.
func exited(x schemas.ExecExit) schemas.ExecInfo {
	return schemas.ExecInfo{
		Status:   schemas.ExecExited,
		ExitCode: &x.ExitCode, Signal: x.Signal, TimedOut: &x.TimedOut, OOMKilled: &x.OOMKilled,
		StdoutBytes: x.StdoutBytes, StderrBytes: x.StderrBytes, DurationMS: x.DurationMS,
	}
}
