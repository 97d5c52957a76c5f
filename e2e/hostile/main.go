//go:build linux

// Hostile is a guest that means harm: the tests put it where the real one is, as
// the first process of a sandbox's container. It is attached to as that is, and
// does not keep to the protocol in the way that its environment variable HOSTILE
// names, for ever.
//
// Adding a way: a line in the table of ways.go, and in e2e/hostile_test.go.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func main() {
	way := os.Getenv("HOSTILE")
	switch way {
	case "", "junk":
		for junk := bytes.Repeat([]byte{1, 0, 0, 0, 0xff, 'H', 'T', 'P'}, 8<<10); ; {
			os.Stdout.Write(junk)
		}
	case "noise on standard error":
		for noise := bytes.Repeat([]byte("\x1b[2Jnoise\r\n"), 8<<10); ; {
			os.Stderr.Write(noise)
		}
	case "gone":
		return
	case "mute":
		io.Copy(io.Discard, os.Stdin)
	}
	speak, found := ways[way]
	if !found {
		fmt.Fprintf(os.Stderr, "no way %q\n", way)
		os.Exit(2)
	}
	greet(speak)
}

// greet answers every greeting as it should be, and has each session spoken by speak.
func greet(speak func(*session)) {
	var scanner protocol.Scanner
	var current *session
	buf := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buf)
		for p := buf[:n]; len(p) > 0; {
			k, nonce, found := scanner.Scan(p)
			if current != nil {
				current.heard.Write(p[:k])
			}
			if p = p[k:]; found {
				current.end()
				current = begin(protocol.Answer(scanner.Key(), nonce), speak)
			}
		}
		if err != nil {
			return
		}
	}
}

// session is what is said from one greeting to the next.
type session struct {
	in    *io.PipeReader
	heard *io.PipeWriter
	deaf  atomic.Bool // nothing more is read

	mu   sync.Mutex
	over bool
}

func begin(answer []byte, speak func(*session)) *session {
	s := &session{}
	s.in, s.heard = io.Pipe()
	os.Stdout.Write(answer)
	go speak(s)
	return s
}

// end returns when the session can write no more.
func (s *session) end() {
	if s != nil {
		s.heard.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over = true
	}
}

func (s *session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, io.ErrClosedPipe
	}
	return os.Stdout.Write(p)
}
