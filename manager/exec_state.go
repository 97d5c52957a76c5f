package manager

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// execInfo is a background exec as clients see it.
func execInfo(s ExecState) schemas.ExecInfo {
	info := schemas.ExecInfo{
		ExecID: s.ID, Status: schemas.ExecRunning, Command: shortCommand(s.Argv), StartedAt: showTime(s.Started), Terminal: s.Terminal,
		StdoutBytes: sane(s.Exit.StdoutBytes), StderrBytes: sane(s.Exit.StderrBytes), DurationMS: s.Exit.Duration.Milliseconds(),
	}
	if !s.Running {
		x := exitOf(s.Exit)
		info.Status = schemas.ExecExited
		info.ExitCode, info.Signal, info.TimedOut, info.OOMKilled = &x.ExitCode, x.Signal, &x.TimedOut, &x.OOMKilled
	}
	return info
}

// execState is a reading from at on, rendered within a limit.
func execState(r *reading, at offsets, limit int64, encoding schemas.Encoding) schemas.ExecState {
	s := schemas.ExecState{ExecInfo: execInfo(r.state), Encoding: encoding}
	s.StdoutBytes, s.StderrBytes = r.stdout.total, r.stderr.total
	s.StdoutDroppedBytes, s.StderrDroppedBytes = r.stdout.start-at.stdout, r.stderr.start-at.stderr
	s.DroppedBytes = s.StdoutDroppedBytes + s.StderrDroppedBytes
	var next offsets
	s.Stdout, next.stdout = r.stdout.render(limit, encoding)
	s.Stderr, next.stderr = r.stderr.render(limit, encoding)
	s.Cursor = next.cursor()
	s.More = r.stdout.more(next.stdout, encoding) || r.stderr.more(next.stderr, encoding)
	return s
}

// more tells whether something that could be read now follows an offset.
func (e excerpt) more(next int64, encoding schemas.Encoding) bool {
	if encoding == schemas.EncodingUTF8 {
		next += int64(e.heldAtEnd())
	}
	return next < e.total
}

// shortCommand is the command that was asked for, or the start of it.
func shortCommand(argv []string) string {
	const most = 200
	var text string
	if len(argv) == 3 && argv[0] == "/bin/sh" && argv[1] == "-c" {
		text = argv[2]
	} else {
		words := slices.Clone(argv)
		for i, w := range words {
			if w == "" || strings.ContainsAny(w, " \t\n\"'") {
				words[i] = strconv.Quote(w)
			}
		}
		text = strings.Join(words, " ")
	}
	if text = showText(text); len(text) > most {
		text = cutText(text, most) + "…"
	}
	return text
}

// showTime is a time that JSON can say.
func showTime(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}
