package main

import (
	"context"
	"os"
	"time"
)

// onResize calls f when the window has got another size, which nothing tells.
func onResize(ctx context.Context, f func()) {
	columns, rows := windowSize(os.Stdout)
	for {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		if c, r := windowSize(os.Stdout); c != columns || r != rows {
			columns, rows = c, r
			f()
		}
	}
}
