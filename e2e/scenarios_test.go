package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestDoors: one list of scenarios holds through every door. The client of each
// has the same two calls, Call and Live; whatever one door can do, the others can.
func TestDoors(t *testing.T) {
	t.Parallel()
	for _, door := range []client.Door{client.Stdio, client.Forwarded, client.Streamable, client.SSE, client.REST} {
		t.Run(string(door), func(t *testing.T) {
			s := startAt(t, door, "--max-sandboxes=6", poolOfTwo)
			b := s.create(args{"name": "agent", "env": map[string]string{"WHO": "agent"}})
			runCases(t, b, scenarios)
			if door == client.SSE { // whose client library tells nobody that it gives up
				runCases(t, b, []testCase[*sandbox]{{"a client that goes away", clientGoes}})
			} else {
				runCases(t, b, []testCase[*sandbox]{{"a cancelled command", cancelKills}})
			}
			runCases(t, s, []testCase[*server]{
				{"list, set timeout, destroy", listSetDestroy},
				{"destroy ends a command", destroyUnderCommand},
				{"restart keeps the sandboxes", restartKeeps},
			})
		})
	}
}

// scenarios go from one to the next: each finds what the one before has left.
var scenarios = []testCase[*sandbox]{
	{"write, read and list files", filesInAndOut},
	{"run a command", runCommand},
	{"live output", liveOutput},
	{"a failing command", failingCommand},
	{"a command that takes too long", slowCommand},
	{"work, snapshot, break, roll back", breakAndRollBack},
	{"fork three", forkThree},
	{"fork a running sandbox", forkRunning},
	{"what is refused", refused},
}

func filesInAndOut(b *sandbox) {
	b.write("dir/app.sh", "echo version 1 of $WHO\n")
	if r := b.read("dir/app.sh"); r.Content != "echo version 1 of $WHO\n" || r.Encoding != schemas.EncodingUTF8 {
		b.t.Errorf("read back: %+v", r)
	}
	all := b.files("dir")
	if len(all) != 1 || all[0].Name != "app.sh" || all[0].Type != schemas.TypeFile || all[0].Size != 23 || all[0].Path != "/workspace/dir/app.sh" {
		b.t.Errorf("listed: %+v", all)
	}
}

func runCommand(b *sandbox) {
	r := b.sh("sh dir/app.sh; read line; echo got $line >&2", args{"stdin": "input\n"})
	if r.Stdout != "version 1 of agent\n" || r.Stderr != "got input\n" || r.ExitCode != 0 || r.Signal != nil || r.Truncated {
		b.t.Errorf("got %+v", r)
	}
	r = call[schemas.ExecResult](b.server, "exec", args{"sandbox_id": b.ID, "argv": []string{"printf", "%s", "$WHO"}, "workdir": "/tmp"})
	if r.Stdout != "$WHO" {
		b.t.Errorf("without a shell: %+v", r)
	}
}

// liveOutput: the command goes on only when its first line has been seen.
func liveOutput(b *sandbox) {
	var shown strings.Builder
	went := false
	a := args{"sandbox_id": b.ID, "command": "echo first; until [ -e go ]; do sleep 0.05; done; rm go; echo second", "timeout_seconds": 30}
	r, err := b.Live(ctx(b.t), a, func(text string) {
		shown.WriteString(text)
		if !went && strings.Contains(shown.String(), "first") {
			went = true
			go b.trySh("touch go")
		}
	})
	if err != nil || r.Stdout != "first\nsecond\n" || r.ExitCode != 0 || !went {
		b.t.Errorf("got %+v, %v; seen %q", r, err, shown.String())
	}
	// With MCP, the last output may come with the result alone.
	if !strings.HasPrefix(shown.String(), "first\n") {
		b.t.Errorf("seen while it ran: %q", shown.String())
	}
}

func failingCommand(b *sandbox) {
	r := b.sh("echo out; echo err >&2; exit 3")
	if r.ExitCode != 3 || r.Stdout != "out\n" || r.Stderr != "err\n" || r.TimedOut {
		b.t.Errorf("got %+v", r)
	}
	r, err := b.Live(ctx(b.t), args{"sandbox_id": b.ID, "command": "kill -9 $$"}, func(string) {})
	if err != nil || r.ExitCode != 137 || signalOf(r) != "SIGKILL" {
		b.t.Errorf("killed by itself: %+v, %v", r, err)
	}
}

func slowCommand(b *sandbox) {
	took(b.t, 4*time.Second, "a command that may take a second", func() {
		r := b.sh("echo before; sleep 60", args{"timeout_seconds": 1})
		if !r.TimedOut || r.ExitCode != 137 || r.Stdout != "before\n" {
			b.t.Errorf("got %+v", r)
		}
	})
	if n := processes(b); n != 0 {
		b.t.Errorf("%d processes are left", n)
	}
}

func breakAndRollBack(b *sandbox) {
	good := b.snapshot("good")
	if good.SandboxID != b.ID || good.Name != "good" || good.ParentID != nil || good.Files < 1 {
		b.t.Errorf("the snapshot is %+v", good)
	}
	b.must("rm -r dir; echo rubbish > new; echo lost > /tmp/lost")
	b.rollback(good.ID)
	if out := b.must("sh dir/app.sh; ls; ls /tmp"); out != "version 1 of agent\ndir\n" {
		b.t.Errorf("after the rollback: %q", out)
	}
	if now := b.get(b.ID); now.SourceSnapshotID == nil || *now.SourceSnapshotID != good.ID || !now.ExpiresAt.Equal(b.ExpiresAt) {
		b.t.Errorf("after the rollback it is %+v", now)
	}
}

// clientGoes: what a client was running ends with its stream.
func clientGoes(b *sandbox) {
	c, err := b.Dial(ctx(b.t), b.door, aliceKey)
	if err != nil {
		b.t.Fatal(err)
	}
	wait := inBackground(func() {
		c.Call(ctx(b.t), "exec", args{"sandbox_id": b.ID, "command": tick, "timeout_seconds": 100}, nil)
	})
	eventually(b.t, 10*time.Second, "the command runs", func() (bool, any) {
		r, err := b.trySh("test -s tick")
		return r.ExitCode == 0, err
	})
	c.MCP.Close()
	wait()
	stopped(b)
}

// goodSnapshot is the one that breakAndRollBack has made.
func (b *sandbox) goodSnapshot() schemas.SnapshotID {
	b.t.Helper()
	all := b.snapshots()
	i := slices.IndexFunc(all, func(s schemas.Snapshot) bool { return s.Name == "good" })
	if i < 0 {
		b.t.Fatalf("there are the snapshots %+v", all)
	}
	return all[i].ID
}

func forkThree(b *sandbox) {
	r := call[schemas.ForkResult](b.server, "fork", args{"snapshot_id": b.goodSnapshot(), "count": 3, "memory_mb": 128, "env": map[string]string{"WHO": "fork"}})
	if len(r.Sandboxes) != 3 || len(r.Errors) != 0 {
		b.t.Fatalf("fork: %+v", r)
	}
	for i, made := range r.Sandboxes {
		fork := &sandbox{b.server, made}
		fork.must(fmt.Sprintf("sed -i s/1/%d/ dir/app.sh", i+2))
		if out := fork.must("sh dir/app.sh"); out != fmt.Sprintf("version %d of fork\n", i+2) || made.MemoryMB != 128 {
			b.t.Errorf("fork %d: %q, %+v", i, out, made)
		}
	}
	if out := b.must("sh dir/app.sh"); out != "version 1 of agent\n" {
		b.t.Errorf("the source has changed: %q", out)
	}
	for _, made := range r.Sandboxes {
		check(b.t, b.destroy(made.ID))
	}
}

func forkRunning(b *sandbox) {
	b.must("echo live > live")
	r := call[schemas.ForkResult](b.server, "fork", args{"sandbox_id": b.ID})
	if len(r.Sandboxes) != 1 || len(r.Errors) != 0 {
		b.t.Fatalf("fork: %+v", r)
	}
	fork := &sandbox{b.server, r.Sandboxes[0]}
	if out := fork.must("cat live; sh dir/app.sh"); out != "live\nversion 1 of agent\n" || fork.SourceSnapshotID == nil {
		b.t.Errorf("the fork has %q; it is %+v", out, fork.Sandbox)
	}
	check(b.t, b.destroy(fork.ID))
	check(b.t, b.deleteSnapshot(*fork.SourceSnapshotID))
	b.refuse("fork", args{"snapshot_id": *fork.SourceSnapshotID}, schemas.CodeNotFound)
}

func refused(b *sandbox) {
	b.refuse("exec", args{"sandbox_id": "sb_0123456789abcdef", "command": "true"}, schemas.CodeNotFound)
	b.refuse("exec", args{"sandbox_id": "nonsense", "command": "true"}, schemas.CodeInvalidRequest)
	b.refuse("read_file", args{"sandbox_id": b.ID, "path": "none"}, schemas.CodeNotFound)
	b.refuse("write_file", args{"sandbox_id": b.ID, "path": "/etc/x", "content": "x"}, schemas.CodeInvalidRequest)
	b.refuse("rollback", args{"sandbox_id": b.ID, "snapshot_id": "snap_0123456789abcdef"}, schemas.CodeNotFound)
	b.refuse("sandbox_create", args{"memory_mb": 1 << 40}, schemas.CodeInvalidRequest)
	for field, a := range map[string]args{
		"comand":          {"command": "true", "comand": "true"},
		"env":             {"command": "true", "env": "A=B"},
		"timeout_seconds": {"command": "true", "timeout_seconds": "5s"},
	} {
		err := b.refuse("exec", a.with(args{"sandbox_id": b.ID}), schemas.CodeInvalidRequest)
		if err != nil && !strings.Contains(err.Error(), field) {
			b.t.Errorf("a wrong %s: the message does not name it: %v", field, err)
		}
	}
}

func listSetDestroy(s *server) {
	b := s.create()
	before := len(s.list())
	r := call[schemas.Sandbox](s, "sandbox_set_timeout", args{"sandbox_id": b.ID, "timeout_seconds": 3600})
	if left := time.Until(r.ExpiresAt); r.ID != b.ID || left < 59*time.Minute || left > time.Hour || !s.get(b.ID).ExpiresAt.Equal(r.ExpiresAt) {
		s.t.Errorf("set to an hour: %+v", r)
	}
	check(s.t, s.destroy(b.ID))
	if after := len(s.list()); after != before-1 {
		s.t.Errorf("%d are listed, before there were %d", after, before)
	}
	s.refuse("exec", args{"sandbox_id": b.ID, "command": "true"}, schemas.CodeNotFound)
}

func restartKeeps(s *server) {
	b := s.create()
	b.must("echo kept > f")
	all := s.list()
	s.restart()
	if now := s.list(); len(now) != len(all) {
		s.t.Errorf("%d are listed, before there were %d", len(now), len(all))
	}
	if out := b.must("cat f"); out != "kept\n" {
		s.t.Errorf("got %q", out)
	}
}
