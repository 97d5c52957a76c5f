package manager

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func someRecord() record {
	r := record{
		Version: recordVersion, ID: schemas.NewSandboxID(), Owner: "o", State: stateRunning,
		Spec: Spec{Image: "x", CPUs: 1, MemoryMB: 64, PidsLimit: 32}, CreatedAt: time.Unix(1, 0).UTC(), lifetime: grant(time.Minute, Instant{time.Unix(2, 0).UTC(), time.Hour, "b"}),
	}
	r.Current = r.begin()
	return r
}

func TestBeginNamesNothingTwice(t *testing.T) {
	r := someRecord()
	next := r.begin()
	if next.Ref.Container == r.Current.Ref.Container || next.Ref.Key == r.Current.Ref.Key || len(next.Ref.Key) != 64 {
		t.Errorf("%+v after %+v", next, r.Current)
	}
	if !strings.Contains(next.Ref.Container, string(r.ID)) {
		t.Errorf("name %s does not hold the ID", next.Ref.Container)
	}
}

// What an earlier server was doing is undone or finished; everything that it
// may have made stays known until it is removed.
func TestRecovered(t *testing.T) {
	base := someRecord()
	creating, rolling, destroying := base, base, base
	creating.State = stateCreating
	rolling.State = stateRollingBack
	next := rolling.begin()
	rolling.Next = &next
	destroying.State, destroying.Reason = stateDestroying, ReasonExpired

	for want, r := range map[recordState][]record{stateDestroying: {creating, destroying}, stateRunning: {base, rolling}} {
		for _, before := range r {
			after := recovered(before)
			if after.State != want {
				t.Errorf("%s became %s; want %s", before.State, after.State, want)
			}
			if d := cmp.Diff(before.refs(), after.refs()); d != "" {
				t.Errorf("%s: what it made: %s", before.State, d)
			}
			if after.Current.Ref != before.Current.Ref || after.Next != nil {
				t.Errorf("%s became %+v", before.State, after)
			}
			if d := cmp.Diff(after, recovered(after), cmp.AllowUnexported(record{})); d != "" {
				t.Errorf("%s: twice is not once: %s", before.State, d)
			}
		}
	}
}

func TestForgetStale(t *testing.T) {
	r := someRecord()
	a, b := r.begin().Ref, r.begin().Ref
	r.Stale = []Ref{a, b}
	r.forgetStale(a)
	if d := cmp.Diff([]Ref{b}, r.Stale); d != "" {
		t.Error(d)
	}
}

func TestStoreRoundTrip(t *testing.T) {
	dir := t.TempDir()
	open := func() *store {
		s, err := openStore(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	r := someRecord()
	next := r.begin()
	r.Next, r.Stale = &next, []Ref{r.begin().Ref}
	r.Spec.Env = map[string]string{"A": "b\n\xc3\xa9"}
	for range 2 {
		if err := s.save(r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := open().load()
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if d := cmp.Diff(r, got[0], cmp.AllowUnexported(record{})); d != "" {
		t.Error(d)
	}
	for range 2 {
		if err := s.remove(r.ID); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(s.dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// L7: a full disk has a kind of its own, and no path in its message.
func TestL7StoreErrors(t *testing.T) {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := storeError("write record", &os.PathError{Op: "write", Path: "/secret", Err: errno})
		if KindOf(err) != KindNoSpace || strings.Contains(Public(err).Message, "/secret") {
			t.Errorf("%v", err)
		}
	}
	if err := storeError("write record", errors.New("odd")); KindOf(err) != KindInternal {
		t.Errorf("%v", err)
	}
	if storeError("write record", nil) != nil {
		t.Error("an error from nothing")
	}
}
