package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

const (
	someExec  = "ex_0123456789abcdef"
	otherExec = "ex_fedcba9876543210"
	someTime  = `"started":"2026-01-02T03:04:05Z"`
)

// state is an ExecState with some of its fields.
func state(fields string) string {
	return fmt.Sprintf(`{"id":%q,%s,%s}`, someExec, someTime, fields)
}

func TestHostileStart(t *testing.T) {
	running := `{"running":true,"stdout_bytes":%d,"stderr_bytes":0,"duration":1}`
	for name, test := range map[string]struct {
		say       []byte
		malformed bool
	}{
		"fine":          {append(frame(protocol.Stdout, "abc"), frame(protocol.Result, fmt.Sprintf(running, 3))...), false},
		"a gap":         {append(frame(protocol.Stdout, "abc"), frame(protocol.Result, fmt.Sprintf(running, 4))...), true},
		"totals back":   {append(frame(protocol.Stdout, "abc"), frame(protocol.Result, fmt.Sprintf(running, 2))...), true},
		"negative":      {frame(protocol.Result, fmt.Sprintf(running, -1)), true},
		"over the cap":  {frame(protocol.Stdout, strings.Repeat("x", 101)), true},
		"beyond a cap":  {append(frame(protocol.Stdout, strings.Repeat("x", 100)), frame(protocol.Result, fmt.Sprintf(running, 1000))...), false},
		"twice":         {append(frame(protocol.Result, fmt.Sprintf(running, 0)), frame(protocol.Result, fmt.Sprintf(running, 0))...), true},
		"a signal name": {frame(protocol.Result, `{"running":true,"signal":"a b"}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) { w.Write(test.say) })
			params := protocol.StartParams{ID: someExec, ExecParams: protocol.ExecParams{MaxStdout: 100, MaxStderr: -1}}
			_, err := c.Start(t.Context(), params, nil, discard)
			if errors.Is(err, ErrMalformed) != test.malformed || (err != nil) != test.malformed {
				t.Errorf("got %v", err)
			}
		})
	}
}

// An exec without a background cannot be handed over.
func TestHostileExecGoesOn(t *testing.T) {
	c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) { w.Write(frame(protocol.Result, `{"running":true}`)) })
	if _, err := c.Exec(t.Context(), protocol.ExecParams{}, nil, discard); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v", err)
	}
}

func TestHostilePoll(t *testing.T) {
	for name, test := range map[string]struct {
		output, result string
		malformed      bool
	}{
		"fine":            {"abc", state(`"stdout":10,"result":{"running":true,"stdout_bytes":13}`), false},
		"dropped":         {"abc", state(`"stdout":20,"result":{"stdout_bytes":99}`), false},
		"from before":     {"abc", state(`"stdout":9,"result":{"stdout_bytes":13}`), true},
		"beyond the end":  {"abc", state(`"stdout":10,"result":{"stdout_bytes":12}`), true},
		"overflow":        {"abc", state(`"stdout":9223372036854775807,"result":{"stdout_bytes":9223372036854775807}`), true},
		"no number":       {"", state(`"stdout":1e400`), true},
		"negative stderr": {"", state(`"stdout":10,"stderr":-1,"result":{"stdout_bytes":10}`), true},
		"negative total":  {"", state(`"stdout":10,"result":{"stdout_bytes":10,"stderr_bytes":-1}`), true},
		"too much":        {"abcdefghijk", state(`"stdout":10,"result":{"stdout_bytes":99}`), true},
		"another":         {"", strings.Replace(state(`"stdout":10,"result":{"stdout_bytes":10}`), someExec, otherExec, 1), true},
		"an ID":           {"", strings.Replace(state(`"stdout":10`), someExec, "../../etc", 1), true},
		"another time":    {"", strings.Replace(state(`"stdout":10,"result":{"stdout_bytes":10}`), "2026", "0000", 1), true},
		"a long argv":     {"", state(`"stdout":10,"result":{"stdout_bytes":10},"argv":["` + strings.Repeat("x", 4000) + `"]`), true},
		"a signal name":   {"", state(`"stdout":10,"result":{"stdout_bytes":10,"signal":"<b>"}`), true},
		"an exit code":    {"", state(`"stdout":10,"result":{"stdout_bytes":10,"exit_code":1000}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
				w.Write(frame(protocol.Stdout, test.output))
				w.Write(frame(protocol.Result, test.result))
			})
			_, err := c.Poll(t.Context(), protocol.PollParams{ID: someExec, Stdout: 10, MaxBytes: 10}, discard)
			if errors.Is(err, ErrMalformed) != test.malformed || (err != nil) != test.malformed {
				t.Errorf("got %v", err)
			}
		})
	}
	c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(frame(protocol.Result, state(`"result":{"running":true}`)))
	})
	if _, err := c.Poll(t.Context(), protocol.PollParams{ID: someExec, Follow: true}, discard); !errors.Is(err, ErrMalformed) {
		t.Errorf("a follower that is left: %v", err)
	}
}

func TestHostileExecs(t *testing.T) {
	fine := state(`"result":{}`) + "\n"
	for name, test := range map[string]struct {
		text      string
		malformed bool
	}{
		"none":     {"", false},
		"some":     {strings.Repeat(fine, 32), false},
		"many":     {strings.Repeat(fine, maxListed+1), true},
		"nothing":  {strings.Repeat("{}\n", 5), true},
		"too long": {strings.Repeat(fine, maxExecs/len(fine)+1), true},
		"no JSON":  {"x", true},
		"cut off":  {fine + fine[:len(fine)/2], true},
	} {
		c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, test.text) })
		if _, err := c.Execs(t.Context()); errors.Is(err, ErrMalformed) != test.malformed || (err != nil) != test.malformed {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestHostileInput(t *testing.T) {
	for text, want := range map[string]error{
		`{"taken":3}`:                         nil,
		`{"taken":4}`:                         ErrMalformed,
		`{"taken":2}`:                         ErrMalformed,
		`{"taken":-1}`:                        ErrMalformed,
		`{"taken":2,"error":{"code":"oops"}}`: ErrMalformed,
		`{"taken":4,"error":{"code":"conflict"}}`: ErrMalformed,
	} {
		c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, text)
		})
		if _, err := c.Input(t.Context(), someExec, strings.NewReader("abc"), false); !errors.Is(err, want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// A guest that answers neither an input nor the request to end it is left soon.
func TestSilentInput(t *testing.T) {
	c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.Input(ctx, someExec, strings.NewReader("abc"), false); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*killPatience {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
}

// Inputs of one exec happen one after the other, those of others do not wait.
func TestInputsTakeTurns(t *testing.T) {
	arrived := make(chan string, 10)
	release := make(chan struct{})
	c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
		var params protocol.InputParams
		protocol.DecodeParams(r.Body, &params)
		n, _ := io.Copy(io.Discard, r.Body)
		arrived <- params.ID
		if params.ID == someExec {
			<-release
		}
		fmt.Fprintf(w, `{"taken":%d}`, n)
	})
	done := make(chan error, 3)
	feed := func(ctx context.Context, id string) {
		_, err := c.Input(ctx, id, strings.NewReader("x"), false)
		done <- err
	}
	go feed(t.Context(), someExec)
	<-arrived
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	feed(ctx, someExec)
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) || len(arrived) > 0 {
		t.Errorf("got %v; %d arrived", err, len(arrived))
	}
	feed(t.Context(), otherExec)
	if err := <-done; err != nil || <-arrived != otherExec {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(c.inputs.queue) > 0 {
		t.Errorf("left: %v", c.inputs.queue)
	}
}

// A call that an older guest does not know is refused as such.
func TestOlderGuest(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc(protocol.PathHello, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })
	c := fakeGuest(t, mux.ServeHTTP)
	if _, err := c.Hello(t.Context()); err != nil {
		t.Error(err)
	}
	_, err := c.Start(t.Context(), protocol.StartParams{ID: someExec}, nil, discard)
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != protocol.ErrUnknownCall {
		t.Errorf("got %v", err)
	}
}

// What its caller gives up in the moment of the hand-over is killed.
func TestStartGivenUpIsKilled(t *testing.T) {
	killed := make(chan string, 1)
	c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == protocol.PathKill {
			var params protocol.KillParams
			protocol.DecodeParams(r.Body, &params)
			killed <- params.ID
			io.WriteString(w, "{}")
			return
		}
		w.Write(frame(protocol.Stdout, "x"))
		w.Write(frame(protocol.Result, `{"running":true,"stdout_bytes":1}`))
	})
	mine := errors.New("mine")
	params := protocol.StartParams{ID: someExec, ExecParams: protocol.ExecParams{MaxStdout: -1, MaxStderr: -1}}
	_, err := c.Start(t.Context(), params, nil, func(protocol.Stream, []byte) error { return mine })
	if !errors.Is(err, mine) {
		t.Errorf("got %v", err)
	}
	select {
	case id := <-killed:
		if id != someExec {
			t.Errorf("killed %s", id)
		}
	case <-time.After(5 * time.Second):
		t.Error("it was not killed")
	}
}

// FuzzExecs: whatever a guest tells of its background execs, it is an error or a
// list within bounds.
func FuzzExecs(f *testing.F) {
	f.Add([]byte(state(`"result":{}`)))
	f.Add([]byte(`{"id":"ex_0123456789abcdef","argv":[null,null],"started":"9999-12-31T23:59:59-23:59"}`))
	f.Add([]byte(`null null [] {}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseExecs(text)
		if err != nil && len(all) > 0 || len(all) > maxListed {
			t.Fatalf("%d, %v", len(all), err)
		}
		for _, s := range all {
			if !protocol.ValidExecID(s.ID) || s.Stdout < 0 || s.Result.ExitCode > 255 {
				t.Fatalf("got %+v", s)
			}
			if _, err := s.Started.UTC().MarshalJSON(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
