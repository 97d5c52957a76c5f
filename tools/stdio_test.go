package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// soon is generous: the machine may be busy, and what fails would fail for ever.
const soon = 20 * time.Second

func TestN1CancelKillsTheCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create()
	w := dial(t, b.srv, quiet())
	w.handshake(mcp.ProtocolVersion20251125)
	w.callWith(7, "exec", args{"sandbox_id": id, "command": "while true; do echo tick; echo tick >> log; sleep 0.05; done"}, args{"progressToken": "p"})
	waitFor(t, func() bool { return len(w.all()) > 1 }) // it runs: there is progress
	w.cancelCall(7)
	size := func() int64 {
		var f schemas.FileContent
		b.call("read_file", args{"sandbox_id": id, "path": "log"}).into(t, &f)
		return f.SizeBytes
	}
	waitFor(t, func() bool { before := size(); time.Sleep(150 * time.Millisecond); return size() == before })
	w.call(8, "exec", args{"sandbox_id": id, "command": "echo next"})
	if r := w.result(8, soon); !strings.Contains(r.text(), "next") {
		t.Errorf("the next call said %q", r.text())
	}
	if a := w.answers(7); len(a) != 0 {
		t.Errorf("the cancelled call was answered: %s", a[0].Result)
	}
}

func waitFor(t testing.TB, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// blocked is a core whose commands run until they are cancelled.
func blocked(running *atomic.Int64) core {
	return scripted{exec: func(ctx context.Context, _ func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
		running.Add(1)
		defer running.Add(-1)
		<-ctx.Done()
		return schemas.ExecExit{}, ctx.Err()
	}}
}

var anExec = args{"sandbox_id": "sb_0123456789abcdef", "command": "x"}

func TestN2LongCallsBlockNothingHoweverMany(t *testing.T) {
	t.Parallel()
	var running atomic.Int64
	w := dial(t, newServer(blocked(&running), "test", quiet()), quiet())
	w.handshake(mcp.ProtocolVersion20251125)
	const many = 300
	for i := range many {
		w.call(i, "exec", anExec)
	}
	waitFor(t, func() bool { return running.Load() == many })
	w.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	w.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	w.call("bad", "exec", args{})
	for _, id := range []string{"ping", "list", "bad"} {
		w.wait(id, soon)
	}
	w.cancelCall(5)
	waitFor(t, func() bool { return running.Load() == many-1 })
}

func TestRequestsWithoutEndAreRefused(t *testing.T) {
	t.Parallel()
	var running atomic.Int64
	w := dial(t, newServer(blocked(&running), "test", quiet()), quiet())
	for i := range maxInFlight + 5 {
		w.call(i, "exec", anExec)
	}
	if m := w.wait(maxInFlight, soon); m.Error == nil || m.Error.Message != "too many requests at once" {
		t.Errorf("got %+v", m)
	}
	w.cancelCall(0)
	waitFor(t, func() bool { return running.Load() == maxInFlight-1 })
	w.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	w.wait("ping", soon)
}

func TestN4EndOfInputEndsTheServer(t *testing.T) {
	t.Parallel()
	var running atomic.Int64
	for name, end := range map[string]func(*wire){
		"input":  func(w *wire) { w.in.Close() },
		"signal": func(w *wire) { w.cancel() },
	} {
		t.Run(name+" idle", func(t *testing.T) {
			w := dial(t, newServer(blocked(&running), "test", quiet()), quiet())
			w.handshake(mcp.ProtocolVersion20251125)
			end(w)
			w.ended(4 * time.Second)
		})
		t.Run(name+" with a call", func(t *testing.T) {
			w := dial(t, newServer(blocked(&running), "test", quiet()), quiet())
			w.call(1, "exec", anExec)
			waitFor(t, func() bool { return running.Load() == 1 })
			end(w)
			w.ended(4 * time.Second)
			waitFor(t, func() bool { return running.Load() == 0 })
		})
	}
}

func TestN4QuickCallsAreAnsweredAtEndOfInput(t *testing.T) {
	t.Parallel()
	slow := scripted{exec: func(context.Context, func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
		time.Sleep(200 * time.Millisecond)
		return schemas.ExecExit{}, nil
	}}
	var in, out bytes.Buffer
	for i := range 30 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"exec","arguments":{"sandbox_id":"sb_0123456789abcdef","command":"x"}}}`, i)
		if i < 29 { // the last line has no end
			in.WriteByte('\n')
		}
	}
	if err := ServeStdio(t.Context(), newServer(slow, "test", quiet()), &in, &out, quiet()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "exit code 0"); n != 30 {
		t.Errorf("%d of 30 were answered", n)
	}
}

// A client that reads nothing more must not keep the server.
func TestN4ClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	unread, stuck := io.Pipe()
	defer unread.Close()
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	start := time.Now()
	if err := ServeStdio(t.Context(), newServer(hugeFile{}, "test", quiet()), in, stuck, quiet()); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > 4500*time.Millisecond {
		t.Errorf("took %v", d)
	}
}

func TestClientThatIsGone(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	defer inW.Close()
	outR, outW := io.Pipe()
	outR.Close()
	var running atomic.Int64
	done := make(chan error, 1)
	go func() {
		done <- ServeStdio(t.Context(), newServer(blocked(&running), "test", quiet()), inR, outW, quiet())
	}()
	b, _ := json.Marshal(args{"name": "exec", "arguments": anExec})
	fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`+"\n", b)
	waitFor(t, func() bool { return running.Load() == 1 })
	fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	select {
	case err := <-done:
		if !errors.Is(err, io.ErrClosedPipe) || running.Load() != 0 {
			t.Errorf("ended with %v, %d running", err, running.Load())
		}
	case <-time.After(soon):
		t.Fatal("goes on for nobody")
	}
}

func TestN5ProgressOnTheWire(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create()
	for _, token := range []any{"a token", 7, 0, nil} {
		w := dial(t, b.srv, quiet())
		meta := args{"progressToken": token}
		w.callWith(1, "exec", args{"sandbox_id": id, "command": "for"}, nil) // a syntax error is a result
		w.wait(1, soon)
		if len(w.all()) != 1 {
			t.Error("progress without a token")
		}
		w.callWith(2, "exec", args{"sandbox_id": id, "command": "echo a; sleep 0.3; echo b; sleep 0.3; echo c"}, meta)
		w.wait(2, soon)
		time.Sleep(20 * time.Millisecond)
		all := w.all()[1:]
		if all[len(all)-1].Method != "" {
			t.Errorf("token %v: the last message is %+v", token, all[len(all)-1])
		}
		var text string
		for _, m := range all[:len(all)-1] {
			if m.Method == "ping" { // settle.go
				continue
			}
			var p struct {
				ProgressToken any
				Progress      float64
				Message       string
			}
			if err := json.Unmarshal(m.Params, &p); err != nil || m.Method != "notifications/progress" || fmt.Sprint(p.ProgressToken) != fmt.Sprint(token) {
				t.Errorf("token %v: got %s %s", token, m.Method, m.Params)
			}
			text += p.Message
		}
		if want := "a\nb\nc\n"; token != nil && text != want || token == nil && text != "" {
			t.Errorf("token %v: got %q", token, text)
		}
	}
}

func TestN7BurstsWithCancels(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	quick := scripted{exec: func(ctx context.Context, _ func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
		select {
		case <-time.After(5 * time.Millisecond):
			return schemas.ExecExit{}, nil
		case <-ctx.Done():
			return schemas.ExecExit{}, ctx.Err()
		}
	}}
	w := dial(t, newServer(quick, "test", quiet()), quiet())
	w.handshake(mcp.ProtocolVersion20251125)
	for i := range 200 {
		w.call(i, "exec", anExec)
		switch random.IntN(6) {
		case 0:
			w.cancelCall(i) // at once
		case 1:
			w.cancelCall(random.IntN(i + 1)) // perhaps answered, perhaps cancelled before
		case 2:
			w.cancelCall(fmt.Sprint(i)) // a string is another ID than a number
		case 3:
			w.cancelCall(99_999) // unknown
		case 4:
			w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`)
			w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
		}
	}
	w.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	w.wait("ping", soon)
	w.in.Close()
	w.ended(soon)
	answered := 0
	for i := range 200 {
		n := len(w.answers(i))
		if n > 1 {
			t.Errorf("%d was answered %d times", i, n)
		}
		answered += n
	}
	if total := len(w.all()); total != answered+2 || answered < 100 {
		t.Errorf("%d messages, %d answered", total, answered)
	}
}

// panics does so in every command.
var panics = scripted{exec: func(context.Context, func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
	panic("secret detail")
}}

func TestN10StandardOutputIsJSONRPCOnly(t *testing.T) {
	t.Parallel()
	var logged buffer
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := dial(t, newServer(panics, "test", log), log)
	for _, line := range []string{
		`not JSON`, `{"jsonrpc":"2.0","id":1`, `[]`, `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `null`, `7`, `""`, ``, "  ",
		`{"jsonrpc":"1.0","id":3,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":4,"method":"no/such"}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":[1]}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nope"}}`,
		`{"jsonrpc":"2.0","id":8,"result":{}}`,
		`{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","method":"no/such/notification"}`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\xfe\",\"method\":\"ping\"}",
	} {
		w.send("%s", line)
	}
	w.call("panic", "exec", anExec)
	w.call("badly typed", "exec", args{"sandbox_id": 1})
	w.send(`{"jsonrpc":"2.0","id":"arguments","method":"tools/call","params":{"name":"exec","arguments":["x"]}}`)
	if r := w.result("panic", soon); !r.IsError || !strings.HasPrefix(r.text(), "internal_error: internal error\nHint: ") || strings.Contains(r.text(), "secret") {
		t.Errorf("panic: %q", r.text())
	}
	if r := w.result("arguments", soon); r.text() != "invalid_request: must be a JSON object, got an array" {
		t.Errorf("arguments: %q", r.text())
	}
	w.result("badly typed", soon)
	if !strings.Contains(logged.String(), "secret detail") || !strings.Contains(logged.String(), "level=ERROR") {
		t.Errorf("the panic is not in the log: %s", logged.String())
	}
	if len(w.answers(8))+len(w.answers(9)) > 0 {
		t.Error("a response was answered")
	}
	batches := 0
	for _, m := range w.answers(nil) {
		if m.Error != nil && m.Error.Message == batchRefused {
			batches++
		}
	}
	if batches != 2 {
		t.Errorf("%d of 2 batches were refused as such", batches)
	}
}

func TestSeveralMegabytesInOneLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create()
	w := dial(t, b.srv, quiet())
	w.call(1, "write_file", args{"sandbox_id": id, "path": "big", "content": strings.Repeat("x\n", 2<<20)})
	if r := w.result(1, time.Minute); r.text() != "wrote /workspace/big, 4194304 bytes" {
		t.Errorf("got %q", r.text())
	}
}

func TestLineThatIsTooLongIsSkipped(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	r := bufio.NewReader(strings.NewReader("a\n" + long + "\nb\n\n" + long[:10] + "\nc"))
	var got []string
	for {
		line, err := readLine(r, 10)
		if err == io.EOF {
			break
		}
		if err != nil {
			line = []byte(err.Error())
		}
		got = append(got, strings.TrimSuffix(string(line), "\n"))
	}
	if want := []string{"a", errLineTooLong.Error(), "b", "", errLineTooLong.Error(), "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCallWithoutOwnerFails(t *testing.T) {
	b := newBench(t)
	r := callOn(t, b.srv, context.Background(), "sandbox_list", nil)
	if !r.IsError || !strings.HasPrefix(r.text(), "internal_error") {
		t.Errorf("got %q", r.text())
	}
}
