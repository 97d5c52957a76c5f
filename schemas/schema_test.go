package schemas

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOutputSchemaDoesNotRequireWhatResultsLeaveOut(t *testing.T) {
	var s struct {
		Properties struct {
			Sandboxes struct {
				Items struct{ Required []string }
			}
		}
	}
	if err := json.Unmarshal(OutputSchema[SandboxList](), &s); err != nil {
		t.Fatal(err)
	}
	want := []string{"id", "status", "image", "cpus", "memory_mb", "pids_limit", "network", "read_only_rootfs", "created_at", "expires_at"}
	if d := cmp.Diff(want, s.Properties.Sandboxes.Items.Required); d != "" {
		t.Error(d)
	}
}

func TestInputSchemaOfNothing(t *testing.T) {
	got := string(InputSchema[struct{}]())
	if want := `{"properties":{},"additionalProperties":false,"type":"object"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestResultLeavesNullsOut(t *testing.T) {
	source := SnapshotID("snap_0123456789abcdef")
	got, err := Result(SandboxList{Sandboxes: []Sandbox{
		{ID: "sb_1", Name: "<a & b>\u2028", CreatedAt: time.Unix(0, 0).UTC()},
		{ID: "sb_2", SourceSnapshotID: &source, CPUs: 0.1, MemoryMB: 1 << 60},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Sandboxes []map[string]any }
	if err := json.Unmarshal(got, &list); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if _, there := list.Sandboxes[0]["source_snapshot_id"]; there {
		t.Error("null is there")
	}
	if list.Sandboxes[0]["name"] != "<a & b>\u2028" || list.Sandboxes[1]["source_snapshot_id"] != string(source) {
		t.Errorf("got %s", got)
	}
	var back SandboxList
	if err := json.Unmarshal(got, &back); err != nil || back.Sandboxes[1].MemoryMB != 1<<60 {
		t.Errorf("%v, %+v: a number changed", err, back)
	}
}

func TestResultKeepsShape(t *testing.T) {
	for _, v := range []any{
		[]int{}, []any{nil, 1, "a"}, map[string]any{}, map[string]any{"a": map[string]any{"b": nil}}, "", 1.5, true, nil,
	} {
		got, err := Result(v)
		if err != nil || !json.Valid(got) {
			t.Errorf("%v: %s, %v", v, got, err)
		}
	}
	if got, _ := Result(map[string]any{"a": map[string]any{"b": nil}, "c": []any{nil}}); string(got) != `{"a":{},"c":[null]}` {
		t.Errorf("got %s", got)
	}
}
