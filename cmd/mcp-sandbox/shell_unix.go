//go:build unix

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// onResize calls f whenever the window has got another size.
func onResize(ctx context.Context, f func()) {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	for {
		select {
		case <-resized:
			f()
		case <-ctx.Done():
			return
		}
	}
}
