package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// table collects rows until all is measured.
type table struct {
	lines []string
}

// row adds median and 99th percentile, and how they compare to a base.
func (t *table) row(what string, times, base []time.Duration) {
	ratio := ""
	if base != nil {
		ratio = fmt.Sprintf("%.2f", float64(percentile(times, 50))/float64(percentile(base, 50)))
	}
	t.lines = append(t.lines, fmt.Sprintf("%s\t%d\t%s\t%s\t%s", what, len(times), ms(percentile(times, 50)), ms(percentile(times, 99)), ratio))
}

// note adds what is no time.
func (t *table) note(what, value string) {
	t.lines = append(t.lines, fmt.Sprintf("%s\t\t%s\t\t", what, value))
}

func (t *table) print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(out, "what\truns\tmedian\tp99\tratio to docker")
	for _, line := range t.lines {
		fmt.Fprintln(out, line)
	}
	return out.Flush()
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
