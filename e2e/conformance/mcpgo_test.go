//go:build conformance

package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestMCPGo: mcp-go's client does what those of TestTypeScript do.
func TestMCPGo(t *testing.T) {
	web := serve(t, product, t.TempDir())
	for _, c := range []struct {
		door    client.Door
		version string
	}{
		{client.Stdio, "2025-11-25"}, {client.Stdio, "2026-07-28"},
		{client.Streamable, "2025-11-25"}, {client.Streamable, "2026-07-28"},
		{client.SSE, "2025-11-25"},
	} {
		t.Run(fmt.Sprint(c.door, " ", c.version), func(t *testing.T) {
			t.Parallel()
			version := mcpclient.WithProtocolVersion(c.version)
			agent := &session{T: t, door: c.door}
			if c.door == client.Stdio {
				agent.Client = start(t, client.Options{Args: arguments(t.TempDir())}, product, version)
			} else {
				again, err := web.Dial(t.Context(), c.door, key, version)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { again.MCP.Close() })
				agent.Client = again
			}
			if got := agent.MCP.ProtocolVersion(); got != c.version {
				t.Errorf("it speaks %s", got)
			}
			agent.run()
			if strays := agent.Strays(); len(strays) > 0 {
				t.Errorf("the client complains of %q", strays)
			}
		})
	}
}

// session is an agent with one sandbox.
type session struct {
	*testing.T
	*client.Client
	door client.Door
	box  schemas.SandboxID
}

type args = map[string]any

// outcome is of what the tools for commands answer.
type outcome struct {
	Status, Stdout, Cursor string
	ExecID                 string `json:"exec_id"`
}

func (s *session) run() {
	var made schemas.Sandbox
	s.call("sandbox_create", args{"env": args{"WHO": "agent"}}, &made)
	s.box = made.ID
	for _, step := range []func(){s.files, s.commands, s.cancels, s.handOver, s.snapshots, func() { s.storm(0.3) }, func() { s.storm(0) }} {
		if !s.Failed() {
			step()
		}
	}
	s.do("sandbox_destroy", nil, nil)
	if err := s.Call(s.Context(), "exec", args{"sandbox_id": s.box, "command": "true"}, nil); client.Code(err) != "not_found" {
		s.Errorf("after destroy: %v", err)
	}
}

func (s *session) call(tool string, a args, result any) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), limit)
	defer cancel()
	if err := s.Call(ctx, tool, a, result); err != nil {
		s.Fatalf("%s: %v", tool, err)
	}
}

// do calls a tool on the sandbox.
func (s *session) do(tool string, a args, result any) {
	s.Helper()
	with := args{"sandbox_id": s.box}
	for name, v := range a {
		with[name] = v
	}
	s.call(tool, with, result)
}

func (s *session) outcome(tool string, a args) (x outcome) {
	s.Helper()
	s.do(tool, a, &x)
	return x
}

func (s *session) sh(command string) outcome {
	s.Helper()
	return s.outcome("exec", args{"command": command})
}

func (s *session) wants(command, out string) {
	s.Helper()
	if r := s.sh(command); r.Stdout != out {
		s.Errorf("%s: %+v, want %q", command, r, out)
	}
}

func (s *session) files() {
	s.do("write_file", args{"path": "app/run.sh", "content": "echo version 1 of $WHO\n"}, nil)
	s.do("edit_file", args{"path": "app/run.sh", "old_text": "version 1", "new_text": "version 2"}, nil)
	var list schemas.FileList
	if s.do("list_files", args{"path": "app"}, &list); len(list.Entries) != 1 || list.Entries[0].Name != "run.sh" {
		s.Errorf("listed: %+v", list)
	}
	r, err := s.Raw(s.Context(), "read_file", args{"sandbox_id": s.box, "path": "app/run.sh"}, nil)
	if err != nil || r.IsError || !strings.Contains(fmt.Sprint(r.Content), "version 2 of $WHO") {
		s.Errorf("read back: %+v, %v", r, err)
	}
}

// commands: the last one goes on only when its first line has been seen.
func (s *session) commands() {
	s.wants("sh app/run.sh", "version 2 of agent\n")
	var seen strings.Builder
	var went sync.WaitGroup
	begin := sync.OnceFunc(func() { went.Go(func() { s.sh("touch go") }) })
	a := args{"sandbox_id": s.box, "command": "echo first; until [ -e go ]; do sleep 0.05; done; echo second; exit 3", "timeout_seconds": 30}
	r, err := s.Live(s.Context(), a, func(text string) { seen.WriteString(text); begin() })
	went.Wait()
	if err != nil || r.ExitCode != 3 || r.Stdout != "first\nsecond\n" || seen.String() != r.Stdout {
		s.Errorf("%+v, %v; seen %q", r, err, seen.String())
	}
}

// cancels: over SSE this client tells nobody that it gives up.
func (s *session) cancels() {
	if s.door == client.SSE {
		return
	}
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	_, err := s.Live(ctx, args{"sandbox_id": s.box, "command": "echo begun; sleep 300"}, func(string) { cancel() })
	if err == nil {
		s.Error("the call ended by itself")
	}
	s.until("the command ends", func() bool { return s.sh("pidof sleep; true").Stdout == "" })
}

func (s *session) handOver() {
	x := s.outcome("exec", args{"command": "echo one; until [ -e go2 ]; do sleep 0.05; done; echo two", "wait_seconds": 0.5})
	if x.Status != "running" || x.Stdout != "one\n" {
		s.Errorf("handed over: %+v", x)
	}
	s.sh("touch go2")
	if x = s.outcome("exec_poll", args{"exec_id": x.ExecID, "cursor": x.Cursor}); x.Status != "exited" || x.Stdout != "two\n" {
		s.Errorf("then: %+v", x)
	}
	cat := s.outcome("exec", args{"command": "cat", "background": true}).ExecID
	s.do("exec_input", args{"exec_id": cat, "input": "typed\n"}, nil)
	s.until("what was typed comes back", func() bool {
		return s.outcome("exec_poll", args{"exec_id": cat, "wait_seconds": 0}).Stdout == "typed\n"
	})
	s.do("exec_kill", args{"exec_id": cat}, nil)
	if x = s.outcome("exec_poll", args{"exec_id": cat}); x.Status != "exited" {
		s.Errorf("killed: %+v", x)
	}
}

func (s *session) snapshots() {
	var good schemas.Snapshot
	s.do("snapshot", args{"name": "good"}, &good)
	s.sh("rm -r app; echo broken > broken")
	s.do("rollback", args{"snapshot_id": good.ID}, nil)
	s.wants("ls broken; sh app/run.sh", "version 2 of agent\n")
	var forks schemas.ForkResult
	if s.call("fork", args{"snapshot_id": good.ID, "count": 2, "env": args{"WHO": "fork"}}, &forks); len(forks.Sandboxes) != 2 {
		s.Errorf("forks: %+v", forks)
	}
	for _, made := range forks.Sandboxes {
		fork := *s
		fork.box = made.ID
		fork.wants("sh app/run.sh; rm app/run.sh", "version 2 of fork\n")
		fork.do("sandbox_destroy", nil, nil)
	}
	s.wants("sh app/run.sh", "version 2 of agent\n")
	s.call("snapshot_delete", args{"snapshot_id": good.ID}, nil)
}

// storm: each of 40 calls at a time hears of itself all that there is, in order.
func (s *session) storm(pause float64) {
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			var want, seen strings.Builder
			for n := range 10 {
				fmt.Fprintf(&want, "%d.%d\n", i, n)
			}
			command := fmt.Sprintf("for n in 0 1 2 3 4 5 6 7 8 9; do echo %d.$n; [ %v = 0 ] || sleep %v; done", i, pause, pause)
			r, err := s.Live(s.Context(), args{"sandbox_id": s.box, "command": command}, func(text string) { seen.WriteString(text) })
			if err != nil || r.Stdout != want.String() || seen.String() != want.String() {
				s.Errorf("%+v, %v; seen %q", r, err, seen.String())
			}
		})
	}
	calls.Wait()
}

func (s *session) until(what string, good func() bool) {
	s.Helper()
	for deadline := time.Now().Add(20 * time.Second); !good(); {
		if time.Now().After(deadline) {
			s.Fatalf("not in time: %s", what)
		}
	}
}
