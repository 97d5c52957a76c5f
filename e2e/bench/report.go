package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
	"time"
)

// report collects figures until all is measured.
type report struct {
	When    time.Time `json:"when"`
	Machine string    `json:"machine"`
	Caveats []string  `json:"caveats,omitempty"`
	Figures []figure  `json:"figures"`
	Aims    []verdict `json:"aims"`
}

func (r *report) add(f figure) {
	r.Figures = append(r.Figures, f)
	fmt.Fprintf(os.Stderr, "  %s, %s: %s\n", f.What, f.Side, f.value(f.P50))
}

// find is a figure by its name; nil when it was not measured.
func (r *report) find(what, side string, atOnce int) *figure {
	for i := range r.Figures {
		if f := &r.Figures[i]; f.What == what && f.Side == side && (f.AtOnce == atOnce || atOnce == 0) {
			return f
		}
	}
	return nil
}

func (f figure) value(v float64) string {
	switch {
	case f.Unit == "ms" && v >= 1000:
		return fmt.Sprintf("%.2f s", v/1000)
	case v >= 100:
		return fmt.Sprintf("%.0f %s", v, f.Unit)
	case v >= 10:
		return fmt.Sprintf("%.1f %s", v, f.Unit)
	}
	return fmt.Sprintf("%.2f %s", v, f.Unit)
}

// print writes a table in Markdown, which is also easy to read as it is.
func (r *report) print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(out, "| what\t| by\t| at once\t| runs\t| median\t| p99\t| ratio\t|")
	fmt.Fprintln(out, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, f := range r.Figures {
		atOnce, runs, p99, ratio := "", "", "", ""
		if f.Runs > 0 {
			atOnce, runs = fmt.Sprint(f.AtOnce), fmt.Sprint(f.Runs)
			p99, ratio = f.value(f.P99), fmt.Sprintf("%.3g", f.Ratio)
		}
		fmt.Fprintf(out, "| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t|\n", f.What, f.Side, atOnce, runs, f.value(f.P50), p99, ratio)
	}
	fmt.Fprintln(out)
	r.judge()
	fmt.Fprintln(out, "| aim\t| at most\t| is\t| \t|")
	fmt.Fprintln(out, "| ---\t| ---\t| ---\t| ---\t|")
	for _, v := range r.Aims {
		met := "met"
		if !v.Met {
			met = "**missed**"
		}
		fmt.Fprintf(out, "| %s\t| %.3g\t| %.3g\t| %s\t|\n", v.Aim, v.AtMost, v.Is, met)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, text := range r.Caveats {
		fmt.Fprintln(w, "\nNote: "+text)
	}
	return nil
}

func (r *report) save(path string) error {
	r.When, r.Machine = time.Now().UTC().Truncate(time.Second), fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	r.judge()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
