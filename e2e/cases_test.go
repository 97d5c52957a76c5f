package e2e

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// testCase is one case of docs/field-cases.md.
type testCase[T any] struct {
	id  string
	run func(T)
}

// inTest is what a case is run on: a server or a sandbox.
type inTest[T any] interface{ in(*testing.T) T }

// runCases runs each case as a subtest on the same server or sandbox.
func runCases[T inTest[T]](t *testing.T, on T, cases []testCase[T]) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) { c.run(on.in(t)) })
	}
}

// alone runs cases that each want a server without sandboxes and snapshots.
func alone(t *testing.T, s *server, cases []testCase[*server]) {
	t.Helper()
	for i, c := range cases {
		cases[i].run = func(s *server) {
			defer s.empty()
			c.run(s)
		}
	}
	runCases(t, s, cases)
}

// repeat runs f for 0 to n-1, so many at a time, and reports the first failure.
func repeat(t *testing.T, n, atOnce int, f func(i int) error) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// took runs f and fails when it took longer than limit.
func took(t *testing.T, limit time.Duration, what string, f func()) time.Duration {
	t.Helper()
	began := time.Now()
	f()
	elapsed := time.Since(began)
	if elapsed > limit {
		t.Errorf("%s took %v, may take %v", what, elapsed, limit)
	}
	return elapsed
}

// inBackground runs f while the test goes on; the returned function waits.
func inBackground(f func()) (wait func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	return wg.Wait
}
