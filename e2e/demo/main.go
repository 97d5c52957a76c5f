// Command demo tells the story of one sandbox, with a real MCP client against a
// real server: work, a snapshot, a disaster, a rollback, and three forks that try
// different things at once. Every result is checked; the exit code is 1 when one
// is not what it should be.
//
//	go run ./e2e/demo -server bin/mcp-sandbox
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
)

func main() {
	server := flag.String("server", "bin/mcp-sandbox", "the program to demonstrate")
	image := flag.String("image", "", "image of the sandbox; the server's default when empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *server, *image); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// run tells the story with a data directory of its own, which goes away again.
func run(ctx context.Context, server, image string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "mcp-sandbox-demo-")
	if err != nil {
		return fmt.Errorf("make a data directory: %w", err)
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	d := &demo{ctx: ctx, out: os.Stdout, image: image}
	if err := d.start(client.Options{Binary: server, Args: []string{"--data-dir=" + dir}}); err != nil {
		return err
	}
	defer d.client.Close()
	defer d.cleanUp() // for a story that ends early; at its end nothing is left
	if err := d.tell(); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nEvery step did what it should, in %s.\n", seconds(time.Since(began)))
	return nil
}
