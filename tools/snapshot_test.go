package tools

import (
	"context"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func (b *bench) sh(id, command string) string {
	b.t.Helper()
	var r schemas.ExecResult
	b.call("exec", args{"sandbox_id": id, "command": command}).into(b.t, &r)
	return r.Stdout
}

func TestSnapshotRollbackFork(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.sh(id, "echo good > f")
	var snap schemas.Snapshot
	r := b.call("snapshot", args{"sandbox_id": id, "name": "good"})
	r.into(t, &snap)
	if snap.Name != "good" || string(snap.SandboxID) != id || !strings.HasPrefix(r.text(), "saved "+string(snap.ID)+` ("good"): of `+id) {
		t.Errorf("got %+v, %q", snap, r.text())
	}

	b.sh(id, "echo bad > f; touch /tmp/x")
	var back schemas.Sandbox
	r = b.call("rollback", args{"sandbox_id": id, "snapshot_id": snap.ID})
	r.into(t, &back)
	if got := b.sh(id, "cat f; ls /tmp"); got != "good\n" || string(back.ID) != id || !strings.HasSuffix(r.text(), ", from "+string(snap.ID)) {
		t.Errorf("got %q, %+v, %q", got, back, r.text())
	}

	var forks schemas.ForkResult
	r = b.call("fork", args{"snapshot_id": snap.ID, "count": 3, "env": args{"A": "b"}})
	r.into(t, &forks)
	if len(forks.Sandboxes) != 3 || !strings.HasPrefix(r.text(), "sandboxes made: 3\nsb_") {
		t.Fatalf("got %+v, %q", forks, r.text())
	}
	if got := b.sh(string(forks.Sandboxes[2].ID), "cat f; echo $A"); got != "good\nb\n" {
		t.Errorf("the fork has %q", got)
	}

	b.sh(id, "echo newer > f")
	b.call("fork", args{"sandbox_id": id}).into(t, &forks)
	if got := b.sh(string(forks.Sandboxes[0].ID), "cat f"); got != "newer\n" {
		t.Errorf("the fork of the sandbox has %q", got)
	}

	var list schemas.SnapshotList
	b.call("snapshot_list", args{"sandbox_id": id}).into(t, &list)
	if len(list.Snapshots) != 2 || list.Snapshots[0].ID != snap.ID {
		t.Errorf("listed %+v", list)
	}
	var gone schemas.Deleted
	b.call("snapshot_delete", args{"snapshot_id": snap.ID}).into(t, &gone)
	if r := b.call("fork", args{"snapshot_id": snap.ID}); !r.IsError || !strings.HasPrefix(r.text(), "not_found: ") {
		t.Errorf("forked what is deleted: %q", r.text())
	}
}

func TestForkReportsWhatItCouldNotMake(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var snap schemas.Snapshot
	b.call("snapshot", args{"sandbox_id": id}).into(t, &snap)
	var forks schemas.ForkResult
	r := b.call("fork", args{"snapshot_id": snap.ID, "count": 20})
	r.into(t, &forks)
	if len(forks.Sandboxes) != 19 || len(forks.Errors) != 1 || !strings.Contains(r.text(), "\n1 could not be made. The first: limit_exceeded: ") {
		t.Errorf("%d made, %d errors, %q", len(forks.Sandboxes), len(forks.Errors), r.text())
	}
	if r := b.call("fork", args{"snapshot_id": snap.ID, "count": 2}); !r.IsError || !strings.HasPrefix(r.text(), "limit_exceeded: ") {
		t.Errorf("nothing was made, but the result is %q", r.text())
	}
}

// N9: results of any tool are bounded, however much the manager has to say.
func TestN9TextFileIsPaged(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.sh(id, "yes 'a line with \"quotes\" and a tab' | head -c 20000000 > big")
	r := b.call("read_file", args{"sandbox_id": id, "path": "big"})
	var p schemas.FileContent
	r.into(t, &p)
	if chars := jsonLen(r.text()) + len(mustJSON(p)); chars > 50_000 || p.NextOffset == nil || p.SizeBytes != 20_000_000 || p.TotalLines != nil || !p.Truncated {
		t.Errorf("%d characters, %+v", chars, p.NextOffset)
	}
	if !strings.Contains(r.text(), "; go on with offset ") {
		t.Errorf("text does not tell of more: %.100q", r.text())
	}
}

func TestFailureOfTheBackendIsTold(t *testing.T) {
	b := newBench(t)
	b.fake.GoDown()
	r := b.call("sandbox_create", nil)
	if text := r.text(); !r.IsError || !strings.HasPrefix(text, "backend_unavailable: ") || !strings.HasSuffix(text, "\nThe same call may succeed later.") {
		t.Errorf("got %q", text)
	}
}

func TestFailureText(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&manager.Error{Kind: manager.KindGone, Message: "sb_1 is gone", Reason: "expired"}, "sandbox_gone (expired): sb_1 is gone\nHint: " + advice[schemas.CodeSandboxGone]},
		{&manager.Error{Kind: manager.KindConflict, Message: "m", Hint: "h", Retryable: true}, "conflict: m\nHint: h\nThe same call may succeed later."},
		{&manager.Error{Kind: manager.KindInternal, Message: "/secret/path"}, "internal_error: internal error\nHint: " + advice[schemas.CodeInternal]},
		{context.DeadlineExceeded, "internal_error: internal error\nHint: " + advice[schemas.CodeInternal]},
	} {
		if got := failure(context.Background(), c.err).Content[0]; toText(got) != c.want {
			t.Errorf("%v: got %q, want %q", c.err, toText(got), c.want)
		}
	}
	for kind := manager.KindInternal; kind <= manager.KindFailed; kind++ {
		if advice[kind.Code()] == "" && kind != manager.KindInvalid { // whose message says it all
			t.Errorf("no advice for %s", kind.Code())
		}
	}
}
