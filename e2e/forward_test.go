package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestForward: stdio processes beside the one that holds their data directory.
func TestForward(t *testing.T) {
	t.Parallel()
	t.Run("J12 calls go through", forwardedCalls)
	for _, version := range []string{"2026-07-28", "2024-11-05"} {
		t.Run("J12 protocol "+version, func(t *testing.T) { speaksForwarded(t, version) })
	}
	t.Run("J12 the local socket", localSocket)
	t.Run("J12 a long path", longPath)
	t.Run("J12 all start at once", allAtOnce)
	t.Run("J12 a holder without a socket", noSocket)
	for name, end := range map[string]func(*raw){
		"end of input": func(r *raw) { r.Stdin.Close() },
		"SIGTERM":      func(r *raw) { r.Signal(syscall.SIGTERM) },
	} {
		t.Run("J12 a forwarder ends by "+name, func(t *testing.T) { forwarderEnds(t, 0, end) })
		t.Run("J12 the holder ends by "+name, func(t *testing.T) { holderEnds(t, end) })
	}
	t.Run("J12 a forwarder is killed", func(t *testing.T) { forwarderEnds(t, -1, func(r *raw) { r.Signal(syscall.SIGKILL) }) })
	t.Run("J12 the holder is killed", holderKilled)
	t.Run("J12 the holder hangs", holderHangs)
	t.Run("J12 serve is restarted", serveRestarted)
	t.Run("J12 many takeovers under load", manyTakeovers)
	t.Run("J13 two data directories", twoDirectories)
}

// crowd is so many stdio processes on one data directory. The first one holds it.
func crowd(t *testing.T, n int, args ...string) (*server, []*raw) {
	t.Helper()
	s := quiet(t, args...)
	return s, s.join(n)
}

// join starts more of them.
func (s *server) join(n int) (all []*raw) {
	s.t.Helper()
	for range n {
		r := s.raw()
		r.hello()
		all = append(all, r)
	}
	return all
}

// holder is who holds the data directory.
func (s *server) holder() string {
	s.t.Helper()
	pid, err := os.ReadFile(filepath.Join(s.dir, "lock.pid"))
	check(s.t, err)
	return strings.TrimSpace(string(pid))
}

// exec sends a command.
func (r *raw) exec(id any, box schemas.SandboxID, command string) {
	r.t.Helper()
	r.tool(id, "exec", args{"sandbox_id": box, "command": command}, nil)
}

// stdout sends a command and waits for what it writes.
func (r *raw) stdout(id int, box schemas.SandboxID, command string) string {
	r.t.Helper()
	r.exec(id, box, command)
	var got schemas.ExecResult
	if isError, err := r.answer(itoa(id)).structured(&got); isError || err != nil {
		r.t.Fatalf("exec %q: %s, %v", command, r.answer(itoa(id)).Result, err)
	}
	return got.Stdout
}

// retryable is what a message says that is an error of a call that may be tried
// again.
func (m message) retryable() (text string, ok bool) {
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	if json.Unmarshal(m.Result, &result) != nil || len(result.Content) != 1 {
		return "", false
	}
	text = result.Content[0].Text
	return text, result.IsError && strings.HasPrefix(text, "backend_unavailable: ") && strings.HasSuffix(text, "\nThe same call may succeed later.")
}

// lost waits for such an answer.
func (r *raw) lost(id string, limit time.Duration) string {
	r.t.Helper()
	m := r.answerWithin(id, limit)
	text, ok := m.retryable()
	if !ok {
		r.t.Errorf("call %s: %s", id, m.Result)
	}
	return text
}

// answeredOnce looks at calls that must have been.
func (r *raw) answeredOnce(ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		if n := len(r.answers(id)); n != 1 {
			r.t.Errorf("%s was answered %d times", id, n)
		}
	}
}

func forwardedCalls(t *testing.T) {
	s, all := crowd(t, 3)
	a, b, c := all[0], all[1], all[2]
	if got := s.holder(); got != itoa(a.Pid()) {
		t.Errorf("%s holds the directory, not %d", got, a.Pid())
	}
	if !strings.Contains(b.Log(), "forwarding to the server that holds the data directory") || strings.Count(b.Log(), "\n") != 1 {
		t.Errorf("it logs %s", b.Log())
	}
	box := b.create()
	if out := c.stdout(1, box, "echo hi > f; cat f"); out != "hi\n" {
		t.Errorf("got %q", out)
	}
	a.tool("list", "sandbox_list", args{}, nil)
	var list schemas.SandboxList
	if _, err := a.answer(`"list"`).structured(&list); err != nil || len(list.Sandboxes) != 1 {
		t.Errorf("there are %+v, %v", list, err)
	}

	b.tool(2, "exec", args{"sandbox_id": box, "command": "echo a; sleep 0.6; echo b"}, args{"progressToken": "p"})
	b.answer("2")
	said, last := "", 0.0
	messages := b.messages()
	for _, m := range messages[:len(messages)-1] {
		if m.Method == "notifications/progress" {
			if said += m.Params.Message; m.Params.Progress <= last || m.Params.ProgressToken != "p" {
				t.Errorf("progress is %+v", m.Params)
			}
			last = m.Params.Progress
		}
	}
	if said != "a\nb\n" || string(messages[len(messages)-1].ID) != "2" {
		t.Errorf("progress said %q, the last message is %+v", said, messages[len(messages)-1])
	}

	c.exec(3, box, tick)
	c.stdout(4, box, "until [ -s tick ]; do sleep 0.05; done")
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	s.up() // a client of its own, that forwards too
	stopped(&sandbox{s, schemas.Sandbox{ID: box}})

	const many = 40
	for i := range many {
		for _, r := range all {
			r.exec(100+i, box, "sleep 1")
		}
	}
	b.say(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	b.answerWithin(`"ping"`, 5*time.Second)
	for i := range many {
		for _, r := range all {
			r.answer(itoa(100 + i))
			r.answeredOnce(itoa(100 + i))
		}
	}
	if n := len(c.answers("3")); n != 0 {
		t.Errorf("the cancelled call was answered %d times", n)
	}
}

// speaksForwarded works through a server that is killed under the client's hands.
func speaksForwarded(t *testing.T, version string) {
	s := startWith(t, []mcpclient.ClientOption{mcpclient.WithProtocolVersion(version)})
	first := s.Client
	s.up()
	if got := s.MCP.ProtocolVersion(); got != version {
		t.Errorf("the server speaks %s", got)
	}
	b := s.create()
	first.Kill()
	if out := b.must("echo hi"); out != "hi\n" {
		t.Errorf("got %q", out)
	}
}

// localSocket serves /v1 to the same user, without a key, and to nobody else.
func localSocket(t *testing.T) {
	s := start(t)
	b := s.create()
	path := filepath.Join(s.dir, "run", "sock")
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	defer c.CloseIdleConnections()
	resp, err := c.Get("http://localhost/v1/sandboxes")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list schemas.SandboxList
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Sandboxes) != 1 || list.Sandboxes[0].ID != b.ID {
		t.Errorf("%d: %+v, %v", resp.StatusCode, list, err)
	}
	s.Close()
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is still there when the server has ended")
	}
}

// longPath: a data directory whose path has no room for a socket.
func longPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	check(t, os.MkdirAll(dir, 0o700))
	s := launch(t, program{dir: dir})
	first := s.Client
	s.up()
	b := s.create()
	first.Kill()
	b.must("echo hi")
}

func allAtOnce(t *testing.T) {
	s := quiet(t)
	var all []*raw
	for range 6 {
		all = append(all, s.raw())
	}
	for _, r := range all {
		r.hello()
	}
	box := all[0].create()
	for i, r := range all {
		r.stdout(i, box, "echo hi >> f")
	}
	if out := all[5].stdout(9, box, "wc -l < f"); strings.TrimSpace(out) != "6" {
		t.Errorf("%s lines", out)
	}
}

// noSocket: the holder is of an old version, or its socket was removed.
func noSocket(t *testing.T) {
	s := start(t)
	check(t, os.RemoveAll(filepath.Join(s.dir, "run")))
	r := s.raw()
	code, err := r.ExitCode(15 * time.Second)
	if said := r.Log(); code != 3 || err != nil || !strings.Contains(said, s.dir) || !strings.Contains(said, itoa(s.Pid())) || strings.Count(said, "\n") != 1 {
		t.Errorf("exit code %d, %v, %q", code, err, said)
	}
}

// forwarderEnds: its commands end, and nothing else does.
func forwarderEnds(t *testing.T, want int, end func(*raw)) {
	s, all := crowd(t, 3)
	box := all[0].create()
	all[2].exec(1, box, "while [ ! -e stop ]; do sleep 0.05; done; echo done")
	all[1].exec(2, box, tick)
	all[2].stdout(3, box, "until [ -s tick ]; do sleep 0.05; done")
	end(all[1])
	if code, err := all[1].ExitCode(5 * time.Second); code != want || err != nil {
		t.Errorf("exit code %d, %v\n%s", code, err, tail(all[1].Log()))
	}
	eventually(t, 5*time.Second, "its command is killed", func() (bool, any) {
		id := int(time.Now().UnixNano() % 1e9)
		out := all[0].stdout(id, box, ": >> tick; wc -c < tick; sleep 0.5; wc -c < tick")
		sizes := strings.Fields(out)
		return len(sizes) == 2 && sizes[0] == sizes[1], out
	})
	all[2].stdout(4, box, "touch stop")
	if _, bad := all[2].answer("1").retryable(); bad {
		t.Errorf("another's command ended: %s", all[2].answer("1").Result)
	}
	if s.holder() != itoa(all[0].Pid()) {
		t.Errorf("%s holds the directory", s.holder())
	}
}

// holderEnds in an orderly way: what runs by others is told, and what they ask
// meanwhile waits.
func holderEnds(t *testing.T, end func(*raw)) {
	s, all := crowd(t, 3)
	box := all[0].create()
	all[1].stdout(1, box, "echo kept > f")
	all[1].exec(2, box, "sleep 300")
	all[1].stdout(3, box, "until pidof sleep; do sleep 0.05; done")
	end(all[0])
	// These come while it ends, or when it has.
	for i := range 20 {
		all[2].exec(100+i, box, "cat f")
		time.Sleep(20 * time.Millisecond) // spread over the time that it takes
	}
	if code, err := all[0].ExitCode(5 * time.Second); code != 0 || err != nil {
		t.Errorf("exit code %d, %v\n%s", code, err, tail(all[0].Log()))
	}
	all[1].lost("2", 10*time.Second)
	for i := range 20 {
		var got schemas.ExecResult
		m := all[2].answer(itoa(100 + i))
		if isError, err := m.structured(&got); isError || err != nil || got.Stdout != "kept\n" {
			t.Errorf("call %d: %s, %v", i, m.Result, err)
		}
		all[2].answeredOnce(itoa(100 + i))
	}
	all[1].answeredOnce("2")
	if pid := s.holder(); pid != itoa(all[1].Pid()) && pid != itoa(all[2].Pid()) {
		t.Errorf("%s holds the directory", pid)
	}
}

func holderKilled(t *testing.T) {
	s, all := crowd(t, 3)
	box := all[1].create()
	all[1].stdout(1, box, "echo kept > f")
	for round := range 2 {
		var holder *raw
		var others []*raw
		for _, r := range all {
			if itoa(r.Pid()) == s.holder() {
				holder = r
			} else {
				others = append(others, r)
			}
		}
		r, long := others[0], 1000+round
		r.exec(long, box, "echo started >> runs; sleep 300")
		r.stdout(10+round, box, fmt.Sprintf("until [ $(wc -l < runs) = %d ]; do sleep 0.05; done", round+1))
		holder.Kill()
		r.lost(itoa(long), 5*time.Second)
		for i, r := range others {
			if out := r.stdout(20+10*round+i, box, "cat f; ! pidof sleep"); out != "kept\n" {
				t.Errorf("after the kill: %q; %s", out, r.answer(itoa(20+10*round+i)).Result)
			}
		}
		r.tool(500+round, "sandbox_list", args{}, nil)
		var list schemas.SandboxList
		if _, err := r.answer(itoa(500 + round)).structured(&list); err != nil || len(list.Sandboxes) != 1 || list.Sandboxes[0].ID != box {
			t.Errorf("the list is %+v, %v", list, err)
		}
		r.answeredOnce(itoa(long))
		all = append(others, s.join(1)...)
	}
	if out := all[0].stdout(99, box, "wc -l < runs"); strings.TrimSpace(out) != "2" {
		t.Errorf("the commands ran %s times", out)
	}
}

// holderHangs: as long as it has the directory it is waited for.
func holderHangs(t *testing.T) {
	s, all := crowd(t, 3)
	box := all[1].create()
	holder := s.holder()
	all[1].exec(1, box, tick)
	all[1].stdout(2, box, "until [ -s tick ]; do sleep 0.05; done")
	check(t, all[0].Signal(syscall.SIGSTOP))
	defer all[0].Signal(syscall.SIGCONT)
	all[1].exec(3, box, "echo waited")
	all[1].say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	late := s.raw() // one that starts now is told
	if code, err := late.ExitCode(30 * time.Second); code != 3 || err != nil || !strings.Contains(late.Log(), holder) {
		t.Errorf("exit code %d, %v, %s", code, err, late.Log())
	}
	check(t, all[2].Signal(syscall.SIGTERM)) // nor is it waited for when the client ends
	if code, err := all[2].ExitCode(5 * time.Second); code != 0 || err != nil {
		t.Errorf("exit code %d, %v", code, err)
	}
	if n := len(all[1].answers("3")); n != 0 || s.holder() != holder {
		t.Errorf("answered %d times by a server that hangs; %s holds the directory", n, s.holder())
	}
	check(t, all[0].Signal(syscall.SIGCONT))
	var got schemas.ExecResult
	if isError, err := all[1].answer("3").structured(&got); isError || err != nil || got.Stdout != "waited\n" {
		t.Errorf("got %s", all[1].answer("3").Result)
	}
	s.up()
	stopped(&sandbox{s, schemas.Sandbox{ID: box}})
	if n := len(all[1].answers("1")); n != 0 {
		t.Errorf("the cancelled call was answered %d times", n)
	}
}

// serveRestarted: a service that comes back soon finds its place; one that does
// not finds it taken.
func serveRestarted(t *testing.T) {
	s := startAt(t, client.REST)
	asStdio := *s.program
	asStdio.door = client.Stdio
	r := (&server{&asStdio, t}).raw()
	r.hello()
	box := r.create()
	if list := s.list(); len(list) != 0 {
		t.Errorf("Alice sees %+v", list)
	}
	r.exec(1, box, "sleep 300")
	r.stdout(2, box, "until pidof sleep; do sleep 0.05; done")
	s.restart()
	r.lost("1", 5*time.Second)
	r.stdout(3, box, "true")
	if s.holder() != itoa(s.Pid()) {
		t.Fatalf("%s holds the directory, not serve", s.holder())
	}
	s.Kill()
	r.stdout(4, box, "true")
	if s.holder() != itoa(r.Pid()) {
		t.Errorf("%s holds the directory, not stdio", s.holder())
	}
	p, err := client.Launch(s.launch())
	if err != nil {
		t.Fatal(err)
	}
	if code, err := p.ExitCode(5 * time.Second); code != 3 || err != nil || !strings.Contains(p.Log(), itoa(r.Pid())) {
		t.Errorf("exit code %d, %v, %s", code, err, p.Log())
	}
	r.tool("bye", "sandbox_destroy", args{"sandbox_id": box}, nil)
	r.answer(`"bye"`)
	r.Stdin.Close()
	if code, err := r.ExitCode(5 * time.Second); code != 0 || err != nil {
		t.Errorf("exit code %d, %v", code, err)
	}
	_, _ = io.Copy(io.Discard, r.Stdout)
}
