// Command bench measures the product against Docker's own calls, in turn and in
// one run, so that what else the machine does weighs on both alike. It prints
// a table; the ratios are what to compare between machines and versions.
//
//	go run ./e2e/bench -server bin/mcp-sandbox
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
)

var (
	server = flag.String("server", "bin/mcp-sandbox", "the program to measure")
	image  = flag.String("image", "mcp-sandbox/test-busybox", "image of the sandboxes; it must have a shell")
	execs  = flag.Int("execs", 200, "how many commands")
	boxes  = flag.Int("sandboxes", 8, "how many sandboxes are created")
	files  = flag.Int("files", 10000, "how many files the tree has that is saved")
	saves  = flag.Int("saves", 5, "how often it is saved and rolled back to")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "mcp-sandbox-bench-")
	if err != nil {
		return fmt.Errorf("make a data directory: %w", err)
	}
	defer os.RemoveAll(dir)
	c, err := client.Start(ctx, client.Options{Binary: *server, Args: []string{"--data-dir=" + dir, "--default-image=" + *image}})
	if err != nil {
		return err
	}
	defer c.Close()
	b := &bench{ctx: ctx, client: c, docker: newDocker()}
	defer b.cleanUp()
	for _, part := range []func() error{b.lifecycle, b.commands, b.memory, b.trees} {
		if err := part(); err != nil {
			return err
		}
	}
	return b.table.print(os.Stdout)
}
