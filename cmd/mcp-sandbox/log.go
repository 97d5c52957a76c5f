package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"
)

// newLogger logs to w, which is never standard output: that belongs to the
// protocol.
func (s *settings) newLogger(w io.Writer) *slog.Logger {
	level := levels[s.LogLevel]
	terminal := isTerminal(w)
	if s.LogFormat == "text" || s.LogFormat == "auto" && terminal {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, NoColor: !terminal}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug,
	"info":  slog.LevelInfo,
	"warn":  slog.LevelWarn,
	"error": slog.LevelError,
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
