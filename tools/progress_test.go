package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// sent is a notification with the time it came.
type sent struct {
	at       time.Duration
	token    any
	progress float64
	message  string
}

// recorder is a Notifier that keeps what it is given.
type recorder struct {
	mu    sync.Mutex
	start time.Time
	all   []sent
}

func (r *recorder) notify(_ context.Context, method string, p map[string]any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if method != "notifications/progress" {
		return errors.New(method)
	}
	r.all = append(r.all, sent{time.Since(r.start), p["progressToken"], p["progress"].(float64), p["message"].(string)})
	return nil
}

func (r *recorder) joined() string {
	var b strings.Builder
	for _, s := range r.all {
		b.WriteString(s.message)
	}
	return b.String()
}

// runScript runs script as a command with a token, on held time.
func runScript(t *testing.T, token any, script func(ctx context.Context, emit func(string))) *recorder {
	r := &recorder{start: time.Now()}
	ctx := WithNotifier(t.Context(), r.notify)
	c := &call{
		core: scripted{exec: func(ctx context.Context, emit func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
			script(ctx, func(s string) { _ = emit(schemas.Stdout, []byte(s)) })
			return schemas.ExecExit{}, nil
		}},
		token: token,
	}
	line := commandArg("x")
	if _, _, err := runExec(ctx, c, schemas.ExecArgs{Command: &line}); err != nil {
		t.Fatal(err)
	}
	count := len(r.all)
	time.Sleep(time.Minute)
	if synctest.Wait(); len(r.all) != count {
		t.Error("a notification after the result")
	}
	for i := 1; i < count; i++ {
		if r.all[i].progress <= r.all[i-1].progress {
			t.Errorf("progress went from %v to %v", r.all[i-1].progress, r.all[i].progress)
		}
	}
	return r
}

func commandArg(s string) schemas.CommandArg {
	return schemas.CommandArg{Command: schemas.Command{Shell: s}}
}

func TestN5ProgressLosesNothingAndComesSlowly(t *testing.T) {
	for _, token := range []mcp.ProgressToken{"a token", 7.0, 0.0, ""} {
		synctest.Test(t, func(t *testing.T) {
			var want strings.Builder
			r := runScript(t, token, func(_ context.Context, emit func(string)) {
				for i := range 500 {
					s := fmt.Sprintf("line %d é\n", i)
					want.WriteString(s)
					emit(s[:len(s)-2]) // inside the é
					emit(s[len(s)-2:])
					time.Sleep(10 * time.Millisecond)
				}
			})
			if r.joined() != want.String() {
				t.Errorf("got %d bytes, want %d", len(r.joined()), want.Len())
			}
			if n := len(r.all); n < 18 || n > 22 {
				t.Errorf("%d notifications in 5 s", n)
			}
			if r.all[0].at > 10*time.Millisecond || r.all[0].token != token {
				t.Errorf("first is %+v", r.all[0])
			}
			for i := 1; i < len(r.all)-1; i++ { // the last comes when the command ends
				if d := r.all[i].at - r.all[i-1].at; d < progressEvery {
					t.Errorf("%v between two", d)
				}
			}
		})
	}
}

func TestN5NoTokenNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runScript(t, nil, func(_ context.Context, emit func(string)) {
			emit("hello")
			time.Sleep(time.Minute)
		})
		if len(r.all) != 0 {
			t.Errorf("got %+v", r.all)
		}
	})
}

func TestN5SilentCommandReportsElapsedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runScript(t, "t", func(context.Context, func(string)) { time.Sleep(21 * time.Second) })
		if len(r.all) != 4 || r.all[0].message != "still running after 5 s" || r.all[3].progress < 20 {
			t.Errorf("got %+v", r.all)
		}
	})
}

func TestN5FloodIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runScript(t, "t", func(_ context.Context, emit func(string)) {
			for range 1000 {
				emit(strings.Repeat("0123456789\n", 3000))
				time.Sleep(time.Millisecond)
			}
		})
		for _, s := range r.all {
			if len(s.message) > progressTextBytes {
				t.Errorf("a message of %d bytes", len(s.message))
			}
		}
		if last := r.all[len(r.all)-1].message; !strings.Contains(last, "left out here") || len(r.all) > 6 {
			t.Errorf("%d messages, the last %q", len(r.all), last)
		}
	})
}

func TestCancelledCallSendsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{start: time.Now()}
		ctx, cancel := context.WithCancel(WithNotifier(t.Context(), r.notify))
		p := (&call{token: "t"}).startProgress(ctx)
		p.output(schemas.Stdout, []byte("a"))
		time.Sleep(time.Second)
		cancel()
		p.output(schemas.Stdout, []byte("b"))
		p.close()
		if r.joined() != "a" {
			t.Errorf("got %q", r.joined())
		}
	})
}
