package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestForwarderPassesEverything(t *testing.T) {
	noLeaks(t)
	b := newBench(t)
	id := b.create()
	r := forward(t, soon)
	r.serveNext(b.srv)
	r.handshake(mcp.ProtocolVersion20251125)
	r.callWith(1, "exec", args{"sandbox_id": id, "command": "echo a; sleep 0.3; echo b"}, args{"progressToken": 7})
	r.call(2, "exec", args{"sandbox_id": id, "command": "while true; do echo tick >> log; sleep 0.02; done"})
	r.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	r.wait("ping", soon)
	if text := r.result(1, soon).text(); !strings.HasSuffix(text, "a\nb") {
		t.Errorf("got %q", text)
	}
	progress := ""
	for _, m := range r.all() {
		var p struct{ Message string }
		if _ = json.Unmarshal(m.Params, &p); m.Method == "notifications/progress" {
			progress += p.Message
		}
	}
	if progress != "a\nb\n" {
		t.Errorf("progress was %q", progress)
	}
	size := func() string { return b.sh(id, "cat log | wc -c") }
	waitFor(t, func() bool { return size() != "0\n" })
	r.cancelCall(2)
	waitFor(t, func() bool { before := size(); time.Sleep(100 * time.Millisecond); return size() == before })
	big := strings.Repeat("x\n", 100_000)
	r.call(3, "write_file", args{"sandbox_id": id, "path": "big", "content": big})
	if text := r.result(3, soon).text(); text != "wrote /workspace/big, 200000 bytes" {
		t.Errorf("got %q", text)
	}
	r.in.Close()
	r.ended(soon)
	if n := len(r.answers(2)); n != 0 {
		t.Errorf("the cancelled call was answered %d times", n)
	}
}

// What ran when the server went is answered once, and what had been answered is
// not answered again. Nothing is sent twice but what changes nothing.
func TestForwarderServerDies(t *testing.T) {
	noLeaks(t)
	r := forward(t, soon)
	s := r.scriptNext()
	r.shakes(s)
	r.send(`{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"exec"}}`)
	s.answers(s.hears("tools/call"))
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec"}}`)
	s.hears("tools/call")
	r.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	s.hears("tools/list")
	r.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"exec"}}`)
	s.hears("tools/call")
	r.cancelCall(3)
	s.hears("notifications/cancelled")
	s.says(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te`) // its last words
	next := r.scriptNext()
	s.Close()

	if text := r.retryable(1); !strings.Contains(text, "may or may not have had effects") {
		t.Errorf("got %q", text)
	}
	r.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"exec"}}`)
	next.welcomes()
	next.answers(next.hears("tools/list"))
	next.answers(next.hears("tools/call"))
	r.wait(4, soon)
	r.in.Close()
	next.hearsNoMore()
	next.Close()
	r.ended(soon)
	for id, want := range map[any]int{"init": 1, 0: 1, 1: 1, 2: 1, 3: 0, 4: 1} {
		if n := len(r.answers(id)); n != want {
			t.Errorf("%v was answered %d times", id, n)
		}
	}
}

// An answer that lacks no more than its end is one.
func TestForwarderLastLineWithoutEnd(t *testing.T) {
	noLeaks(t)
	r := forward(t, soon)
	s := r.scriptNext()
	r.send(`{"jsonrpc":"2.0","id":0,"method":"tools/call"}`)
	s.hears("tools/call")
	go func() {
		s.says(`{"jsonrpc":"2.0","id":0,"result":{"fine":true}}`)
		s.Close()
	}()
	if m := r.wait(0, soon); string(m.Result) != `{"fine":true}` {
		t.Errorf("got %s", m.Result)
	}
}

// A server that dies during the handshake, before or after its answer, and the
// next one as well.
func TestForwarderHandshake(t *testing.T) {
	noLeaks(t)
	r := forward(t, soon)
	first, second, third, fourth := r.scriptNext(), r.scriptNext(), r.scriptNext(), r.scriptNext()
	r.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{}}`)
	first.hears("initialize")
	first.Close()
	second.answers(second.hears("initialize"))
	r.wait("init", soon)
	second.Close()
	third.hears("initialize")
	third.Close()
	fourth.answers(fourth.hears("initialize"))
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fourth.hears("notifications/initialized")
	fifth := r.scriptNext()
	fourth.Close()
	fifth.welcomes()
	r.send(`{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	fifth.answers(fifth.hears("ping"))
	r.wait(0, soon)
	if all := r.all(); len(all) != 2 {
		t.Errorf("got %+v", all)
	}
}

// IDs and tokens may be written in more ways than one.
func TestForwarderKnowsIDsHoweverWritten(t *testing.T) {
	noLeaks(t)
	r := forward(t, soon)
	s := r.scriptNext()
	for written, answered := range map[string]string{`1.0`: `1`, `2e3`: `2000`, `"\u0041"`: `"A"`, `9007199254740993`: `9007199254740993`} {
		r.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call"}`, written)
		s.hears("tools/call")
		s.answers(json.RawMessage(answered))
	}
	waitFor(t, func() bool { return len(r.all()) == 4 })
	s.Close()
	next := r.scriptNext()
	r.send(`{"jsonrpc":"2.0","id":"end","method":"ping"}`)
	next.answers(next.hears("ping"))
	r.wait("end", soon)
	if all := r.all(); len(all) != 5 {
		t.Errorf("got %+v", all)
	}
}

// A server that ends as it should lets calls finish, or tells them why not, and
// what comes meanwhile waits for the next one.
func TestForwarderServerLeaves(t *testing.T) {
	noLeaks(t)
	var running atomic.Int64
	r := forward(t, soon)
	_, leave := r.serveNext(newServer(blocked(&running), "test", quiet()))
	r.handshake(mcp.ProtocolVersion20251125)
	r.call(0, "exec", anExec)
	waitFor(t, func() bool { return running.Load() == 1 })
	leave()
	if text := r.retryable(0); !strings.Contains(text, "shutting down") {
		t.Errorf("got %q", text)
	}
	r.call(1, "exec", anExec)
	r.serveNext(newServer(blocked(&running), "test", quiet()))
	waitFor(t, func() bool { return running.Load() == 1 })

	next := forward(t, soon)
	s := next.scriptNext()
	next.call(0, "exec", anExec)
	s.hears("tools/call")
	s.says(`{"jsonrpc":"2.0","method":%q}`+"\n", leavingMethod)
	s.hearsNoMore()
	next.call(1, "exec", anExec)
	s.answers(json.RawMessage("0"))
	next.wait(0, soon)
	s.Close()
	s = next.scriptNext()
	s.answers(s.hears("tools/call"))
	next.wait(1, soon)
	if all := next.all(); len(all) != 2 {
		t.Errorf("got %+v", all)
	}
}

func TestForwarderWithoutNextServer(t *testing.T) {
	noLeaks(t)
	r := forward(t, 50*time.Millisecond)
	s := r.scriptNext()
	r.shakes(s)
	r.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	s.hears("tools/list")
	s.Close()
	for i := range 3 {
		r.call(i, "exec", anExec)
		if text := r.retryable(i); !strings.Contains(text, "nothing was done") {
			t.Errorf("got %q", text)
		}
	}
	if m := r.wait("list", soon); m.Error == nil {
		t.Errorf("got %+v", m)
	}
	s = r.scriptNext()
	s.welcomes()
	r.call("at last", "exec", anExec)
	s.answers(s.hears("tools/call"))
	r.wait("at last", soon)
}

func TestForwarderClientEnds(t *testing.T) {
	noLeaks(t)
	for name, end := range map[string]func(*relayed){
		"input":  func(r *relayed) { r.in.Close() },
		"signal": func(r *relayed) { r.cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			var running atomic.Int64
			r := forward(t, soon)
			r.serveNext(newServer(blocked(&running), "test", quiet()))
			r.call(0, "exec", anExec)
			waitFor(t, func() bool { return running.Load() == 1 })
			end(r)
			r.ended(4 * time.Second)
			r.result(0, soon)
			r.once(1)
			waitFor(t, func() bool { return running.Load() == 0 })
		})
		t.Run(name+" without a server", func(t *testing.T) {
			r := forward(t, soon)
			s := r.scriptNext()
			r.call(0, "exec", anExec)
			s.hears("tools/call")
			s.Close()
			r.retryable(0)
			r.call(1, "exec", anExec)
			end(r)
			r.ended(4 * time.Second)
			if name == "input" {
				r.retryable(1)
				r.once(2)
			}
		})
	}
}

// A server that says nothing is not waited for by who has asked it nothing.
func TestForwarderClientEndsWhileServerHangs(t *testing.T) {
	noLeaks(t)
	for _, end := range []func(*relayed){func(r *relayed) { r.in.Close() }, func(r *relayed) { r.cancel() }} {
		r := forward(t, soon)
		s := r.scriptNext()
		r.shakes(s)
		end(r)
		r.ended(soon)
	}
}

func TestForwarderQuickCallsAreAnsweredAtEndOfInput(t *testing.T) {
	noLeaks(t)
	slow := scripted{exec: func(context.Context, func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
		time.Sleep(200 * time.Millisecond)
		return schemas.ExecExit{}, nil
	}}
	r := forward(t, soon)
	for i := range 30 {
		defer func() { r.result(i, soon) }()
	}
	go func() {
		for i := range 30 {
			r.call(i, "exec", anExec)
		}
		r.in.Close()
	}()
	r.serveNext(newServer(slow, "test", quiet()))
	r.ended(soon)
}

// As many kills as there are calls, at any moment: each call is answered once and
// run at most once.
func TestForwarderManyDeaths(t *testing.T) {
	noLeaks(t)
	var mu sync.Mutex
	ran := map[string]int{}
	srv := newServer(counting{scripted{}, func(command string) {
		mu.Lock()
		ran[command]++
		mu.Unlock()
		time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
	}}, "test", quiet())
	r := forward(t, soon)
	stop := make(chan struct{})
	var killing sync.WaitGroup
	killing.Go(func() {
		for {
			kill, leave := r.serveNext(srv)
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
			}
			if rand.IntN(4) == 0 {
				leave()
			} else {
				kill()
			}
		}
	})
	const n = 400
	for i := range n {
		r.call(i, "exec", args{"sandbox_id": "sb_0123456789abcdef", "command": string(rune('a'+i%26)) + strings.Repeat("x", i)})
		if i%8 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	answered := 0
	for i := range n {
		if res := r.result(i, soon); !res.IsError {
			answered++
		} else {
			r.retryable(i)
		}
	}
	close(stop)
	killing.Wait()
	r.once(n)
	mu.Lock()
	defer mu.Unlock()
	for command, times := range ran {
		if times != 1 {
			t.Errorf("%.1s, %d long, ran %d times", command, len(command), times)
		}
	}
	if answered == 0 || len(ran) < answered {
		t.Errorf("%d of %d calls worked, %d ran", answered, n, len(ran))
	}
	t.Logf("%d of %d calls worked, %d ran", answered, n, len(ran))
}

// counting tells which command it is asked to run.
type counting struct {
	scripted
	ran func(command string)
}

func (c counting) ExecStream(_ context.Context, _ manager.Owner, _ schemas.SandboxID, r schemas.ExecRequest, _ func(schemas.Stream, []byte) error) (schemas.ExecExit, *schemas.ExecState, error) {
	c.ran(fmt.Sprint(r.Command))
	return schemas.ExecExit{}, nil, nil
}
