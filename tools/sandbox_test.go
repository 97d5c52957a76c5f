package tools

import (
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestSandboxLife(t *testing.T) {
	b := newBench(t)
	var made schemas.Sandbox
	r := b.call("sandbox_create", args{"name": "mine", "timeout_seconds": 60, "memory_mb": nil})
	r.into(t, &made)
	if made.Status != schemas.StatusRunning || made.Name != "mine" || made.MemoryMB != 512 || made.Network {
		t.Errorf("made %+v", made)
	}
	if want := string(made.ID) + ` ("mine"): running, image mcp-sandbox/base:latest, CPUs 1, memory 512 MiB, no network, expires `; !strings.Contains(r.text(), want) {
		t.Errorf("got %q, want %q in it", r.text(), want)
	}
	id := args{"sandbox_id": made.ID}

	var list schemas.SandboxList
	b.call("sandbox_list", args{}).into(t, &list)
	if len(list.Sandboxes) != 1 || list.Sandboxes[0].ID != made.ID {
		t.Errorf("listed %+v", list)
	}

	var longer schemas.Sandbox
	b.call("sandbox_set_timeout", args{"sandbox_id": made.ID, "timeout_seconds": 600}).into(t, &longer)
	if left := longer.ExpiresAt.Sub(made.ExpiresAt).Seconds(); left < 500 {
		t.Errorf("only %.0f s more", left)
	}

	var gone schemas.Destroyed
	b.call("sandbox_destroy", id).into(t, &gone)
	if gone.SandboxID != made.ID || !gone.Destroyed {
		t.Errorf("destroyed %+v", gone)
	}
	if r := b.call("sandbox_list", nil); r.text() != "no sandboxes" {
		t.Errorf("listed %q", r.text())
	}
}

func TestLimitIsAnErrorWithAWayOut(t *testing.T) {
	b := newBench(t)
	for range 20 {
		b.create()
	}
	r := b.call("sandbox_create", nil)
	if text := r.text(); !r.IsError || !strings.HasPrefix(text, "limit_exceeded: ") || !strings.Contains(text, "\nHint: ") {
		t.Errorf("got %q", text)
	}
	var list schemas.SandboxList
	b.call("sandbox_list", args{"limit": 3}).into(t, &list)
	if len(list.Sandboxes) != 3 || list.NextCursor == "" {
		t.Errorf("page of %d, cursor %q", len(list.Sandboxes), list.NextCursor)
	}
}
