package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Commands that find no server become one, one at a time, and the others find
// that. None of them fails because another ended meanwhile.
func TestManyWithoutAServer(t *testing.T) {
	dir := t.TempDir()
	lookup := func(name string) (string, bool) {
		return dir, name == "AGENT_SANDBOX_DATA_DIR"
	}
	t.Setenv("DOCKER_HOST", "unix://"+dir+"/no-docker.sock")
	var own, others int
	var mu sync.Mutex
	var all sync.WaitGroup
	begun := time.Now()
	for range 4 {
		all.Go(func() {
			for range 4 {
				var stdout bytes.Buffer
				var stderr shared
				if code := run([]string{"ls", "-v", "-ojson"}, lookup, strings.NewReader(""), &stdout, &stderr); code != 0 || stdout.String() != "{\"sandboxes\":[]}\n" {
					t.Errorf("code %d, %q, %q", code, stdout.String(), stderr.String())
				}
				mu.Lock()
				if strings.Contains(stderr.String(), "this command is the server") {
					own++
				} else {
					others++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("%d were the server, %d used another's, in %v", own, others, time.Since(begun))
	if own == 0 {
		t.Error("none was the server")
	}
}

// shared is written to by several at once, as standard error is.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
