package dockerbackend

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// streamOperations move bytes between the server and a sandbox. What comes without
// an error must be all of it.
var streamOperations = []operation{
	{"exec", func(w *world, s *standing) func() error {
		return func() error {
			w.boxes[s.box].runs.begun++
			result, _, err := w.Exec(w.ctx, alice, s.box, schemas.ExecRequest{Command: schemas.Command{Shell: "echo x >> runs; cat f"}})
			if err != nil {
				return err
			}
			w.boxes[s.box].runs.done++
			return w.wantFile(s, result.Stdout)
		}
	}, 0},
	{"write", func(w *world, s *standing) func() error { return w.rewriting(s, longText()) }, 0},
	{"read", func(w *world, s *standing) func() error {
		return func() error {
			_, content, err := w.ReadFile(w.ctx, alice, s.box, "f", 0, -1)
			if err != nil {
				return err
			}
			defer content.Close()
			got, err := io.ReadAll(content)
			if err != nil {
				return err
			}
			return w.wantFile(s, string(got))
		}
	}, 0},
	{"archive", func(w *world, s *standing) func() error {
		return func() error {
			var tar bytes.Buffer
			if err := w.ReadArchive(w.ctx, alice, s.box, ".", &tar); err != nil {
				return err
			}
			if !slices.ContainsFunc(w.boxes[s.box].file, func(f string) bool { return bytes.Contains(tar.Bytes(), []byte(f)) }) {
				return fmt.Errorf("an archive of %d bytes came without an error", tar.Len())
			}
			return nil
		}
	}, 0},
	{"snapshot", func(w *world, s *standing) func() error {
		return func() error { _, err := w.snapshot(s.box); return err }
	}, 0},
	{"rollback", func(w *world, s *standing) func() error { w.rewrite(s.box, longText()); return w.rollback(s) }, 0},
	{"fork", operationNamed("fork").prepare, 0},
	{"create", operationNamed("create").prepare, 0},
	{"set timeout", func(w *world, s *standing) func() error { return w.renewal(s) }, 0},
}

func operationNamed(name string) operation {
	return operations[slices.IndexFunc(operations, func(o operation) bool { return o.name == name })]
}

func (w *world) wantFile(s *standing, got string) error {
	if !slices.Contains(w.boxes[s.box].file, got) {
		return fmt.Errorf("%d bytes came without an error, which are not the file's", len(got))
	}
	return nil
}

// longText does not compress, so that much of it is on its way at any moment.
func longText() string {
	var text strings.Builder
	for text.Len() < 600_000 {
		text.WriteString(randomHex(500))
	}
	return text.String()
}

// TestStreamsAreCut: the streams of all containers break after so many bytes, once
// or again and again.
func TestStreamsAreCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	b := w.make(longText())
	snap, err := w.snapshot(b.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.snapped = w.boxes[b.ID].file[0]
	s := &standing{box: b.ID, snap: snap}
	after := []int64{0, 100, 2_000, 200_000}
	if *full {
		for range 30 {
			after = append(after, rand.Int64N(1_000_000))
		}
	}
	for i, op := range streamOperations {
		for j, n := range after {
			if once := (i+j)%2 == 0; *full || once || n%1000 == 0 {
				w.cut(op, s, n, once)
			}
		}
	}
}

func (w *world) cut(op operation, s *standing, after int64, once bool) {
	w.Helper()
	what := fmt.Sprintf("%s with streams cut after %d bytes, once %t", op.name, after, once)
	act := op.prepare(w, s)
	began := time.Now()
	w.proxy.CutStreamsAfter(after, once)
	end := w.bound()
	err := act()
	end()
	w.proxy.Lift()
	took := time.Since(began)
	if kind := manager.KindOf(err); err != nil && kind != manager.KindBackend && kind != manager.KindUnavailable || took > callLimit {
		w.Errorf("%s, in %v: %v", what, took, err)
	}
	w.wantTyped(what, err)
	w.wantWhole(what)
	w.tidy(s)
	w.Logf("--- %s took %v: %v", what, took.Round(time.Millisecond), err)
	if w.Failed() {
		w.FailNow()
	}
}
