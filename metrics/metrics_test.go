package metrics

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantLine(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no %q", line)
		}
	}
}

func TestNamesAreThereFromTheStart(t *testing.T) {
	m := New()
	m.Watch(func() manager.Stats {
		return manager.Stats{Sandboxes: map[schemas.Status]int{schemas.StatusStopped: 2}, SnapshotBytes: 1 << 40}
	})
	wantLine(t, scrape(t, m), `mcp_sandbox_sandboxes{status="stopped"} 2`, "mcp_sandbox_execs_in_flight 0", "mcp_sandbox_snapshots 0",
		"mcp_sandbox_snapshot_bytes 1.099511627776e+12", "mcp_sandbox_reaped_total 0", "mcp_sandbox_reconciled_total 0",
		"mcp_sandbox_guest_reconnects_total 0", "go_goroutines ", "process_open_fds ")
}

// What a manager does is seen.
func TestCountsAManager(t *testing.T) {
	c := New()
	m, err := manager.New(manager.Config{
		DataDir: t.TempDir(), AllowedImages: []string{"*"}, MaxSandboxes: 1,
		DefaultTimeoutSeconds: 900, MaxTimeoutSeconds: 900, DefaultCPUs: 1, MaxCPUs: 1, DefaultMemoryMB: 64, MaxMemoryMB: 64,
		DefaultPidsLimit: 64, MaxPidsLimit: 64, DefaultExecTimeoutSeconds: 60, MaxExecTimeoutSeconds: 60,
		MaxExecOutputBytes: 1 << 20, MaxFileBytes: 1 << 20, MaxSnapshotBytes: 1 << 20, ReapInterval: time.Second, Observer: c,
	}, backendtest.NewFake(t))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c.Watch(m.Stats)
	m.Start()
	ctx, o := t.Context(), manager.DefaultOwner
	one := int64(1)
	b, err := m.Create(ctx, o, schemas.CreateSandboxRequest{TimeoutSeconds: &one})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(ctx, o, schemas.CreateSandboxRequest{}); err == nil {
		t.Fatal("two sandboxes, where one is allowed")
	}
	if _, _, err := m.Exec(ctx, o, b.ID, schemas.ExecRequest{Command: schemas.Command{Shell: "true"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Snapshot(ctx, o, b.ID, schemas.SnapshotRequest{}); err != nil {
		t.Fatal(err)
	}
	wantLine(t, scrape(t, c), `mcp_sandbox_operation_duration_seconds_count{operation="create",outcome="ok"} 1`,
		`mcp_sandbox_operation_duration_seconds_count{operation="create",outcome="limit_exceeded"} 1`,
		`mcp_sandbox_operation_duration_seconds_count{operation="exec",outcome="ok"} 1`,
		`mcp_sandbox_sandboxes{status="running"} 1`, "mcp_sandbox_snapshots 1", "mcp_sandbox_reconciled_total 1")
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(scrape(t, c), "\nmcp_sandbox_reaped_total 1\n"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was reaped")
		}
	}
}
