package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestMCP: the protocol over standard input and output, with a client.
func TestMCP(t *testing.T) {
	t.Parallel()
	s := start(t)
	runCases(t, s.create(), []testCase[*sandbox]{
		{"N1 cancel kills", cancelKills},
		{"N2 a long call blocks nothing", longCallBlocksNothing},
		{"N2 many long calls block nothing", manyLongCalls},
		{"N9 results are bounded", boundedResults},
		{"N12 what is an error", whatIsAnError},
		{"resources, prompts and completions", asksForMore},
		{"no place in the background", noPlace},
	})
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		t.Run("protocol "+version, func(t *testing.T) { speaks(t, version) })
	}
}

// speaks creates, runs and destroys in one version of the protocol.
func speaks(t *testing.T, version string) {
	s := startWith(t, []mcpclient.ClientOption{mcpclient.WithProtocolVersion(version)})
	if got := s.MCP.ProtocolVersion(); got != version {
		t.Errorf("the server speaks %s", got)
	}
	tools, err := s.MCP.ListTools(ctx(t), mcp.ListToolsRequest{})
	if err != nil || len(tools.Tools) < 14 {
		t.Fatalf("tools: %v, %v", tools, err)
	}
	if out := s.create().must("echo hi"); out != "hi\n" {
		t.Errorf("got %q", out)
	}
}

func longCallBlocksNothing(b *sandbox) {
	other := b.create()
	wait := inBackground(func() { b.sh("touch long; sleep 5; rm long") })
	eventually(b.t, 5*time.Second, "the long call runs", func() (bool, any) {
		r := b.sh("ls long")
		return r.ExitCode == 0, r
	})
	for what, f := range map[string]func(){
		"tools/list": b.answers,
		"exec":       func() { other.must("true") },
	} {
		took(b.t, time.Second, what+" during a long call", f)
	}
	wait()
	check(b.t, b.destroy(other.ID))
}

// answers asks what costs the server nothing. (There is no ping in the newest
// protocol; pingWhileBusy sends one by hand.)
func (s *server) answers() {
	s.t.Helper()
	_, err := s.MCP.ListTools(ctx(s.t), mcp.ListToolsRequest{})
	check(s.t, err)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// manyLongCalls are more than any pool of workers would have.
func manyLongCalls(b *sandbox) {
	boxes := []*sandbox{b, b.create(), b.create()}
	c, cancel := context.WithCancel(ctx(b.t))
	const each = 40
	wait := inBackground(func() {
		repeat(b.t, each*len(boxes), each*len(boxes), func(i int) error {
			boxes[i%len(boxes)].shContext(c, "sleep 30; exit 0")
			return nil
		})
	})
	for _, box := range boxes {
		eventually(b.t, 20*time.Second, "they run", func() (bool, any) {
			r := box.sh("pidof sleep | wc -w")
			return strings.TrimSpace(r.Stdout) == itoa(each), r.Stdout
		})
	}
	took(b.t, 2*time.Second, "tools/list", b.answers)
	took(b.t, 3*time.Second, "exec", func() { b.must("true") })
	cancel()
	took(b.t, 5*time.Second, "all of them to be cancelled", wait)
	for _, box := range boxes {
		eventually(b.t, 5*time.Second, "none is left", func() (bool, any) {
			n := processes(box)
			return n == 0, n
		})
	}
}

// boundedResults: what a model gets is short, however much there is.
func boundedResults(b *sandbox) {
	b.must("seq 3000000 > long.txt; mkdir many; cd many; seq 5000 | sed s/^/name-/ | xargs touch", args{"timeout_seconds": 100})
	for tool, a := range map[string]args{
		"exec":       {"command": "cat long.txt"},
		"read_file":  {"path": "long.txt"},
		"list_files": {"path": "many"},
	} {
		r, err := b.Raw(ctx(b.t), tool, a.with(args{"sandbox_id": b.ID}), nil)
		if err != nil {
			b.t.Errorf("%s: %v", tool, err)
			continue
		}
		line, err := json.Marshal(r)
		if n := len([]rune(string(line))); err != nil || n > 50_000 || n < 10_000 {
			b.t.Errorf("%s: %d characters, %v", tool, n, err)
		}
	}
	r := b.sh("cat long.txt")
	if !r.Truncated || r.StdoutBytes != 22888896 || !strings.HasPrefix(r.Stdout, "1\n2\n") || !strings.HasSuffix(r.Stdout, "2999999\n3000000\n") {
		b.t.Errorf("truncated %t, %d bytes, %.20q to %q", r.Truncated, r.StdoutBytes, r.Stdout, r.Stdout[max(0, len(r.Stdout)-20):])
	}
	b.must("rm -r many long.txt")
}

func whatIsAnError(b *sandbox) {
	if r := b.sh("exit 3"); r.ExitCode != 3 {
		b.t.Errorf("exit 3: %+v", r)
	}
	if r := b.sh("sleep 9", args{"timeout_seconds": 0.3}); !r.TimedOut {
		b.t.Errorf("timeout: %+v", r)
	}
	b.refuse("exec", args{"sandbox_id": "sb_0123456789abcdef", "command": "true"}, schemas.CodeNotFound)
	for field, a := range map[string]args{
		"sandbox_id": {"sandbox_id": "nonsense", "command": "true"},
		"command":    {"sandbox_id": b.ID, "command": 5},
		"comand":     {"sandbox_id": b.ID, "command": "true", "comand": "true"},
		"argv":       {"sandbox_id": b.ID, "argv": [][]int{{1}}},
		"env":        {"sandbox_id": b.ID, "command": "true", "env": "A=B"},
		"encoding":   {"sandbox_id": b.ID, "command": "true", "encoding": "latin1"},
	} {
		err := b.refuse("exec", a, schemas.CodeInvalidRequest)
		if err != nil && !strings.Contains(err.Error(), field) {
			b.t.Errorf("a wrong %s: the message does not name it: %v", field, err)
		}
	}
	err := b.Call(ctx(b.t), "no_such_tool", args{}, nil)
	if err == nil || client.Code(err) != "" {
		b.t.Errorf("an unknown tool: %v", err)
	}
}

// TestMCPRaw: what only shows when every line is looked at.
func TestMCPRaw(t *testing.T) {
	t.Parallel()
	t.Run("N2 ping during a long call", pingWhileBusy)
	t.Run("N5 progress", progress)
	t.Run("N7 bursts with cancels", bursts)
	t.Run("N10 odd input leaves standard output clean", oddInput)
	t.Run("N4 end of input, idle", func(t *testing.T) { leaves(t, false, func(r *raw) { r.Stdin.Close() }) })
	t.Run("N4 end of input, during a command", func(t *testing.T) { leaves(t, true, func(r *raw) { r.Stdin.Close() }) })
	t.Run("N4 SIGTERM, idle", func(t *testing.T) { leaves(t, false, func(r *raw) { r.Signal(syscall.SIGTERM) }) })
	t.Run("N4 SIGINT, during a command", func(t *testing.T) { leaves(t, true, func(r *raw) { r.Signal(syscall.SIGINT) }) })
}

// createRaw makes a sandbox and returns its ID.
func (r *raw) create() schemas.SandboxID {
	r.t.Helper()
	r.tool("create", "sandbox_create", args{}, nil)
	var b schemas.Sandbox
	if isError, err := r.answer(`"create"`).structured(&b); isError || err != nil {
		r.t.Fatalf("create: %s, %v", r.answer(`"create"`).Result, err)
	}
	return b.ID
}

// leaves ends the server, which must go at once, with 0, and leave the sandbox.
func leaves(t *testing.T, busy bool, end func(*raw)) {
	s := quiet(t)
	r := s.raw()
	r.hello()
	id := r.create()
	if busy {
		r.tool(7, "exec", args{"sandbox_id": id, "command": "touch started; " + tick}, nil)
		r.tool(8, "exec", args{"sandbox_id": id, "command": "until [ -s tick ]; do sleep 0.05; done"}, nil)
		r.answer("8")
	}
	end(r)
	if code, err := r.ExitCode(5 * time.Second); code != 0 || err != nil {
		t.Errorf("exit code %d, %v\n%s", code, err, tail(r.Log()))
	}
	s.up()
	b := &sandbox{s, schemas.Sandbox{ID: id}}
	if list := s.list(); len(list) != 1 || list[0].ID != id {
		t.Fatalf("after the restart there are %+v", list)
	}
	b.alive()
	if busy {
		stopped(b)
	}
}

func bursts(t *testing.T) {
	s := quiet(t)
	r := s.raw()
	r.hello()
	id := r.create()
	n := count(120, 600)
	for i := range n {
		r.tool(i, "exec", args{"sandbox_id": id, "command": "true"}, nil)
		if i%3 == 0 {
			r.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i-i%7)
		}
		if i%10 == 0 {
			r.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown-%d"}}`, i)
		}
	}
	r.say(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	r.answer(`"last"`)
	r.tool("end", "exec", args{"sandbox_id": id, "command": "echo alive"}, nil)
	r.answer(`"end"`)
	answered := 0
	eventually(t, 30*time.Second, "every call that was not cancelled is answered", func() (bool, any) {
		answered = 0
		for i := range n {
			switch len(r.answers(fmt.Sprint(i))) {
			case 0:
			case 1:
				answered++
			default:
				t.Fatalf("call %d was answered more than once", i)
			}
		}
		return answered >= n-n/3-1, answered
	})
}
