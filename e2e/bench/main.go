// Command bench measures the product against Docker's own calls, in turn and in
// one run, so that what else the machine does weighs on all sides alike. It
// prints a table and whether the aims are met, and can keep both as JSON. The
// ratios are what to compare between machines and versions.
//
//	make bench
//	go run ./e2e/bench -server bin/mcp-sandbox -only exec -json bench.json
//
// # Rooms
//
// rig.go starts the servers. Ways to do the same thing are ours.go (by our doors),
// docker.go and twin.go (by Docker's own calls), and attached.go (what nothing can
// be faster than). part_*.go say what is measured. sample.go takes times in turn,
// report.go and aims.go say what they mean, and journal.go where they mean nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

var (
	server = flag.String("server", "bin/mcp-sandbox", "the program to measure")
	image  = flag.String("image", "mcp-sandbox/base:latest", "image of the sandboxes; it must have a shell, seq and date")
	only   = flag.String("only", "", "a regular expression: which parts to run, of "+partNames())
	out    = flag.String("json", "", "file to write the figures to, as JSON")
	scale  = flag.Float64("scale", 1, "how many rounds, as a share of the usual number")
	boxes  = flag.Int("idle", 20, "most sandboxes that idle at a time; 100 takes a few minutes more")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	r, err := newRig(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	r.report.Caveats = r.caveats()
	for _, p := range parts {
		if !wanted.MatchString(p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s …\n", p.name)
		r.part = p.name
		if err := p.run(r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if *out != "" {
		if err := r.report.save(*out); err != nil {
			return err
		}
	}
	return r.report.print(os.Stdout)
}

// parts are what is measured, in order.
var parts []part

type part struct {
	name string
	run  func(*rig) error
}

func init() {
	parts = []part{
		{"create", (*rig).create}, {"exec", (*rig).exec}, {"stream", (*rig).stream}, {"output", (*rig).output},
		{"files", (*rig).files}, {"trees", (*rig).trees}, {"destroy", (*rig).destroy}, {"idle", (*rig).idle}, {"growth", (*rig).growth},
	}
}

func partNames() string { return "create, exec, stream, output, files, trees, destroy, idle, growth" }
