//go:build !linux

package tools

import "io"

// unreadOf is nil: what a reader has read is not known here.
func unreadOf(io.Writer) func() int { return nil }
