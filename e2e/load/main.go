// Command load puts a server under load, and under nonsense, and looks whether
// it stays what it was: commands in numbers, streams at a time, readers who do
// not read, and requests that are none. The server is its own, on loopback, with
// a key and a data directory that go away again. It prints tables, and fails
// when something was not as it should be.
//
//	go run ./e2e/load -server bin/mcp-sandbox
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

var (
	binary    = flag.String("server", "bin/mcp-sandbox", "the program to load")
	image     = flag.String("image", "mcp-sandbox/test-busybox", "image of the sandboxes; it must have a shell, seq and yes")
	boxes     = flag.Int("sandboxes", 20, "how many sandboxes the load is spread over")
	execs     = flag.Int("execs", 1000, "how many commands")
	inFlight  = flag.Int("in-flight", 32, "how many commands, or malformed requests, at a time")
	streams   = flag.Int("streams", 200, "how many streams at a time; a sandbox takes 48")
	short     = flag.Bool("short-stream", false, "streams of ten seconds, not of a minute")
	readers   = flag.Int("readers", 8, "how many clients do not read")
	malformed = flag.Int("malformed", 10000, "how many malformed requests")
	slack     = flag.Int64("memory-slack", 32, "MiB that the server may hold at the end beyond what it held at the beginning")
	limit     = flag.Duration("limit", 8*time.Minute, "give up after this long")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	dir, err := os.MkdirTemp("", "mcp-sandbox-load-")
	if err != nil {
		return fmt.Errorf("make a data directory: %w", err)
	}
	defer os.RemoveAll(dir)
	l := &load{ctx: ctx}
	if err := l.start(dir); err != nil {
		return err
	}
	defer l.end()
	for _, part := range []func() error{l.begin, l.commands, l.stream, l.unread, l.nonsense, l.settle} {
		if err := part(); err != nil {
			return err
		}
	}
	if err := l.print(os.Stdout); err != nil {
		return err
	}
	return l.faults.err()
}
