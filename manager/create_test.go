package manager_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestCreateDefaults(t *testing.T) {
	s := start(t)
	got := s.create()
	want := schemas.Sandbox{
		Status: schemas.StatusRunning, Image: manager.BaseImage, CPUs: 1, MemoryMB: 512, PidsLimit: 256, ReadOnlyRootfs: true,
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(schemas.Sandbox{}, "ID", "CreatedAt", "ExpiresAt")); d != "" {
		t.Error(d)
	}
	if ttl := got.ExpiresAt.Sub(got.CreatedAt); ttl != 900*time.Second {
		t.Errorf("time to live is %v", ttl)
	}
	if _, err := schemas.ParseSandboxID(string(got.ID)); err != nil {
		t.Error(err)
	}
}

func TestCreateFallsBackToAPublicImage(t *testing.T) {
	s := start(t)
	s.fake.RemoveImage(manager.BaseImage)
	if got := s.create(); got.Image != manager.FallbackImage {
		t.Errorf("image is %s", got.Image)
	}
}

func TestCreateRefuses(t *testing.T) {
	s := start(t, func(c *manager.Config) {
		c.AllowedImages = []string{"busybox*", "ghcr.io/good/*"}
		c.AllowNetwork = false
	})
	type req = schemas.CreateSandboxRequest
	many := map[string]string{}
	for i := range 600 {
		many["A"+strings.Repeat("x", i)] = ""
	}
	invalid := map[string]struct {
		req   req
		names string
	}{
		"I16 ttl 0":             {req{TimeoutSeconds: ptr[int64](0)}, "timeout_seconds is 0"},
		"I16 ttl negative":      {req{TimeoutSeconds: ptr[int64](-1)}, "1 to 86400"},
		"I16 ttl huge":          {req{TimeoutSeconds: ptr[int64](1e12)}, "1000000000000"},
		"B8 ttl overflow":       {req{TimeoutSeconds: ptr[int64](math.MaxInt64)}, "timeout_seconds"},
		"B8 memory overflow":    {req{MemoryMB: ptr[int64](1 << 54)}, "memory_mb is 18014398509481984; allowed is 16 to 4096"},
		"memory too small":      {req{MemoryMB: ptr[int64](15)}, "memory_mb"},
		"memory negative":       {req{MemoryMB: ptr[int64](-512)}, "memory_mb"},
		"cpus zero":             {req{CPUs: ptr(0.0)}, "cpus"},
		"cpus negative":         {req{CPUs: ptr(-1.0)}, "cpus"},
		"cpus NaN":              {req{CPUs: ptr(nan)}, "cpus is NaN"},
		"cpus infinite":         {req{CPUs: ptr(math.Inf(1))}, "cpus"},
		"cpus too many":         {req{CPUs: ptr(4.01)}, "0.01 to 4"},
		"pids too few":          {req{PidsLimit: ptr[int64](31)}, "pids_limit"},
		"pids too many":         {req{PidsLimit: ptr[int64](5000)}, "pids_limit"},
		"name long":             {req{Name: strings.Repeat("é", 129)}, "129 characters"},
		"name control":          {req{Name: "a\nb"}, "U+000A"},
		"name not UTF-8":        {req{Name: "\xff"}, "UTF-8"},
		"image syntax":          {req{Image: "Not An Image"}, `"Not An Image"`},
		"image path":            {req{Image: "../etc"}, "image"},
		"image long":            {req{Image: strings.Repeat("a", 600)}, "600"},
		"F17 env key injection": {req{Env: map[string]string{"A; touch PWN #": "v"}}, "A; touch PWN #"},
		"F17 env key equals":    {req{Env: map[string]string{"A=B": "c"}}, "A=B"},
		"F17 env key empty":     {req{Env: map[string]string{"": "x"}}, "env"},
		"F17 env key digit":     {req{Env: map[string]string{"1A": "x"}}, "1A"},
		"F17 env key newline":   {req{Env: map[string]string{"A\n": "x"}}, "env"},
		"F17 env value NUL":     {req{Env: map[string]string{"A": "a\x00b"}}, "env A has a NUL"},
		"F17 env value long":    {req{Env: map[string]string{"A": strings.Repeat("x", 128<<10)}}, "env A"},
		"F17 env names many":    {req{Env: many}, "600 names"},
	}
	for name, c := range invalid {
		t.Run(name, func(t *testing.T) {
			_, err := s.Create(t.Context(), owner, c.req)
			wantInvalid(t, err, c.names)
		})
	}
	forbidden := map[string]req{
		"network":         {Network: ptr(true)},
		"image":           {Image: "debian:12"},
		"image look-like": {Image: "evil.io/busybox:latest"},
		"image host":      {Image: "ghcr.io/evil/x"},
	}
	for name, r := range forbidden {
		t.Run(name, func(t *testing.T) {
			_, err := s.Create(t.Context(), owner, r)
			wantKind(t, err, manager.KindForbidden)
		})
	}
	s.wantNothingLeft()
	if n := s.fake.Calls(backendtest.OpPrepareImage); n != 0 {
		t.Errorf("%d images were prepared for requests that cannot be met", n)
	}
}

func TestCreateErrorNeverShowsAValue(t *testing.T) {
	s := start(t)
	_, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{Env: map[string]string{"A": "hunter2\x00"}})
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error shows a value: %v", err)
	}
}

// H8: the limit holds when many come at once, and what goes frees its slot.
func TestH8LimitHoldsInParallel(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.MaxSandboxes = 5 })
	for round := range 2 {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var made []schemas.SandboxID
		for range 20 {
			wg.Go(func() {
				b, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{})
				if err != nil {
					if e := wantKind(t, err, manager.KindLimit); !e.Retryable || e.Hint == "" {
						t.Errorf("limit error says too little: %+v", e)
					}
					return
				}
				mu.Lock()
				defer mu.Unlock()
				made = append(made, b.ID)
			})
		}
		wg.Wait()
		if len(made) != 5 || len(s.fake.Containers()) != 5 {
			t.Fatalf("round %d: %d sandboxes, %d containers; want 5", round, len(made), len(s.fake.Containers()))
		}
		for _, id := range made {
			if err := s.Destroy(t.Context(), owner, id); err != nil {
				t.Fatal(err)
			}
		}
		s.wantNothingLeft()
	}
}

// I11, I12, J10: whatever fails, and however late, leaves nothing, frees its
// slot, and is the same true error each time.
func TestI11FailedCreateLeavesNothing(t *testing.T) {
	boom := &manager.Error{Kind: manager.KindBackend, Message: "boom"}
	down := &manager.Error{Kind: manager.KindUnavailable, Message: "away"}
	cases := map[string]struct {
		op    backendtest.Op
		fault backendtest.Fault
		kind  manager.Kind
	}{
		"image":            {backendtest.OpPrepareImage, backendtest.Fault{Times: 3, Before: boom}, manager.KindBackend},
		"create":           {backendtest.OpCreate, backendtest.Fault{Times: 3, Before: boom}, manager.KindBackend},
		"create, too late": {backendtest.OpCreate, backendtest.Fault{Times: 3, After: boom}, manager.KindBackend},
		"create, lost":     {backendtest.OpCreate, backendtest.Fault{Times: 3, After: down}, manager.KindUnavailable},
		"deadline":         {backendtest.OpSetDeadline, backendtest.Fault{Times: 3, Before: boom}, manager.KindBackend},
		"untyped":          {backendtest.OpCreate, backendtest.Fault{Times: 3, Before: errors.New("odd")}, manager.KindInternal},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(c *manager.Config) { c.MaxSandboxes = 1 })
			s.fake.Inject(c.op, c.fault)
			for range 3 {
				_, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{})
				if manager.KindOf(err) != c.kind {
					t.Fatalf("error is %v", err)
				}
				s.wantNothingLeft()
			}
			s.create()
		})
	}
}

// The image is prepared while the record is written; when that fails nobody waits
// for the image, and the slot is free again.
func TestRecordFailsWhileTheImageIsPrepared(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.MaxSandboxes = 1 })
	s.fake.Inject(backendtest.OpPrepareImage, backendtest.Fault{Times: 1, Wait: make(chan struct{})})
	records := filepath.Join(s.cfg.DataDir, "sandboxes")
	must(t, os.Rename(records, records+".away"))
	_, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{})
	wantKind(t, err, manager.KindNoSpace)
	if n := s.fake.Calls(backendtest.OpPrepareImage); n != 1 {
		t.Errorf("%d images were being prepared", n)
	}
	must(t, os.Rename(records+".away", records))
	s.wantNothingLeft()
	s.create()
}

func TestJ10MissingImageIsTheCallersMistake(t *testing.T) {
	s := start(t)
	_, err := s.Create(t.Context(), owner, schemas.CreateSandboxRequest{Image: "no-such-image:1"})
	wantInvalid(t, err, "no-such-image:1")
	s.wantNothingLeft()
}

// N11, H6: the caller gives up at any moment of a create; nothing is left, and
// nothing is listed.
func TestCreateCallerGoesAway(t *testing.T) {
	ops := map[backendtest.Op]backendtest.Fault{}
	never := make(chan struct{})
	for _, op := range []backendtest.Op{backendtest.OpPrepareImage, backendtest.OpCreate, backendtest.OpSetDeadline} {
		ops[op] = backendtest.Fault{Times: 1, Wait: never}
		ops[op+" "] = backendtest.Fault{Times: 1, Hold: never}
	}
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		t.Run(string(op), func(t *testing.T) {
			s := start(t)
			real := backendtest.Op(strings.TrimSpace(string(op)))
			s.fake.Inject(real, ops[op])
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := s.Create(ctx, owner, schemas.CreateSandboxRequest{})
				done <- err
			}()
			eventually(t, "call", func() bool { return s.fake.Calls(real) > 0 })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("error is %v", err)
			}
			s.wantNothingLeft()
			if l, err := s.List(t.Context(), owner, schemas.Page{}); err != nil || len(l.Sandboxes) > 0 {
				t.Errorf("list is %v, %v", l, err)
			}
		})
	}
}

// A daemon gets slower, not faster, with more creations at a time.
func TestCreationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		gate := make(chan struct{})
		s.fake.Inject(backendtest.OpCreate, backendtest.Fault{Times: 10, Wait: gate})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { s.create() })
		}
		synctest.Wait()
		if n := s.fake.Calls(backendtest.OpCreate); n != 4 {
			t.Errorf("%d creations at a time", n)
		}
		close(gate)
		wg.Wait()
	})
}
