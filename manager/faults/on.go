//go:build faults

package faults

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// crashAt is the variable that names the moment of the crash: a point; with
// ":3" the third time that it is passed; with "+20ms" so much later, which is in
// the middle of what comes next.
const crashAt = "MCP_SANDBOX_CRASH_AT"

// moment is a value of crashAt.
type moment struct {
	name  string
	hit   int
	delay time.Duration
}

var armed = mustParse(os.Getenv(crashAt))

var (
	mu   sync.Mutex
	hits = map[string]int{}
)

// Point is a moment at which the server may die, by its name in [Points]. It
// says on standard error that it was passed.
func Point(name string) {
	if !slices.Contains(Points, name) {
		panic("faults: point " + name + " is not in the list")
	}
	mu.Lock()
	hits[name]++
	hit := hits[name]
	mu.Unlock()
	fmt.Fprintf(os.Stderr, "fault point %s:%d\n", name, hit)
	if name != armed.name || hit != armed.hit {
		return
	}
	if armed.delay > 0 {
		time.AfterFunc(armed.delay, die)
		return
	}
	die()
}

// die ends the process, and lets its caller do nothing more.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		p.Kill()
	}
	select {}
}

func mustParse(text string) moment {
	m, err := parse(text)
	if err != nil {
		panic(fmt.Sprintf("faults: %s is %q: %v", crashAt, text, err))
	}
	return m
}

func parse(text string) (m moment, err error) {
	if text == "" {
		return m, nil
	}
	text, delay, delayed := strings.Cut(text, "+")
	if delayed {
		if m.delay, err = time.ParseDuration(delay); err != nil {
			return m, err
		}
	}
	name, hit, counted := strings.Cut(text, ":")
	m.name, m.hit = name, 1
	if counted {
		if m.hit, err = strconv.Atoi(hit); err != nil {
			return m, err
		}
	}
	if !slices.Contains(Points, name) {
		return m, fmt.Errorf("there is no point %q", name)
	}
	return m, nil
}
