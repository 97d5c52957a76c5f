package tools

import (
	"fmt"
	"strings"
	"time"
)

// when is a time as a model can use it: it cannot tell what time it is now.
func when(t time.Time) string {
	left := time.Until(t).Round(time.Second)
	if left < 0 {
		left = 0
	}
	return fmt.Sprintf("%s (in %d s)", t.UTC().Format(time.RFC3339), int(left.Seconds()))
}

func label(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", name)
}

// listText is one line an entry.
func listText[T any](what string, entries []T, next string, line func(T) string) string {
	if len(entries) == 0 && next == "" {
		return "no " + what
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d", what, len(entries))
	for _, e := range entries {
		b.WriteString("\n" + line(e))
	}
	if next != "" {
		fmt.Fprintf(&b, "\nThere are more: pass cursor %q.", next)
	}
	return b.String()
}

// count is n of something, as "1 byte" or "2 bytes".
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func bytesOf(n int64) string { return count(n, "byte") }
