package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// table collects lines until all is measured.
type table struct {
	lines []string
}

func (t *table) line(what string, cells ...string) {
	t.lines = append(t.lines, strings.Join(append([]string{what}, cells...), "\t"))
}

// spread adds how durations are spread, and a remark.
func (t *table) spread(what string, d []time.Duration, remark string) {
	t.line(what, fmt.Sprint(len(d)), ms(percentile(d, 50)), ms(percentile(d, 99)), ms(percentile(d, 100)), remark)
}

func (t *table) print(w io.Writer, head ...string) {
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(out, strings.Join(head, "\t"))
	for _, line := range t.lines {
		fmt.Fprintln(out, line)
	}
	out.Flush()
	fmt.Fprintln(w)
}

func (l *load) print(w io.Writer) error {
	l.times.print(w, "what", "runs", "median", "p99", "longest", "")
	l.memory.print(w, "the server's", "memory", "goroutines", "descriptors", "")
	l.answers.print(w, "malformed", "sent", "ours", "JSON-RPC", "net/http", "none", "statuses")
	return nil
}

// percentile is the nearest rank.
func percentile(times []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// faults is what was not as it should be; of many, the first are told.
type faults struct {
	mu    sync.Mutex
	texts []string
	more  int
}

func (f *faults) add(format string, a ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	const most = 25
	if len(f.texts) == most {
		f.more++
		return
	}
	f.texts = append(f.texts, fmt.Sprintf(format, a...))
}

func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.texts) == 0 {
		return nil
	}
	more := ""
	if f.more > 0 {
		more = fmt.Sprintf("\n  and %d more", f.more)
	}
	return fmt.Errorf("not as it should be:\n  %s%s", strings.Join(f.texts, "\n  "), more)
}
