package manager_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestBackgroundInput(t *testing.T) {
	s := start(t)
	id := s.create().ID
	x := s.launch(id, "while read line; do echo \"got $line\"; done; echo over")
	input := func(text string, end bool) error {
		return s.InputExec(t.Context(), owner, id, x.ExecID, []byte(text), end)
	}
	for i := range 50 {
		if err := input(fmt.Sprintf("%d\n", i), false); err != nil {
			t.Fatal(err)
		}
		if x = s.poll(id, x.ExecID, x.Cursor, 10); x.Stdout != fmt.Sprintf("got %d\n", i) {
			t.Fatalf("round %d: %+v", i, x)
		}
	}
	if err := input("last\n", true); err != nil {
		t.Fatal(err)
	}
	if text, _ := s.rest(id, x.ExecID, x.Cursor); text != "got last\nover\n" {
		t.Errorf("at the end came %q", text)
	}
	if e := wantKind(t, input("x", false), manager.KindConflict); !strings.Contains(e.Message, "0 of 1 bytes were taken") {
		t.Errorf("error is %+v", e)
	}
	_, closed, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("cat; sleep 60"), WaitSeconds: ptr(0.0)})
	if err != nil || closed == nil {
		t.Fatalf("%+v, %v", closed, err)
	}
	x = *closed
	wantKind(t, input("x", false), manager.KindConflict)
}

// A command that does not read holds a call up only so long.
func TestInputIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		x := s.launch(id, "sleep 60; wc -c")
		begin := time.Now()
		err := s.InputExec(t.Context(), owner, id, x.ExecID, make([]byte, 1<<20), false)
		if e := wantKind(t, err, manager.KindConflict); !strings.Contains(e.Message, "; 65536 of 1048576 bytes were taken") {
			t.Errorf("error is %+v", e)
		}
		if took := time.Since(begin).Round(time.Second); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
		if err := s.InputExec(t.Context(), owner, id, x.ExecID, nil, true); err != nil {
			t.Fatal(err)
		}
		if text, _ := s.rest(id, x.ExecID, x.Cursor); text != "65536\n" {
			t.Errorf("the command has read %q", text)
		}
	})
}

func TestBackgroundSignals(t *testing.T) {
	s := start(t)
	id := s.create().ID
	send := func(x schemas.ExecID, name string) error {
		return s.SignalExec(t.Context(), owner, id, x, schemas.SignalRequest{Signal: name})
	}
	for name, want := range map[string]struct {
		signal string
		code   int
	}{"INT": {"SIGINT", 130}, "SIGTERM": {"SIGTERM", 143}, "kill": {"SIGKILL", 137}, "Hup": {"SIGHUP", 129}} {
		x := s.launch(id, "sleep 60")
		if err := send(x.ExecID, "WINCH"); err != nil {
			t.Fatal(err)
		}
		if err := send(x.ExecID, name); err != nil {
			t.Fatal(err)
		}
		if _, r := s.rest(id, x.ExecID, ""); *r.Signal != want.signal || *r.ExitCode != want.code || *r.TimedOut {
			t.Errorf("%s: %+v", name, r)
		}
		wantKind(t, send(x.ExecID, name), manager.KindConflict)
	}
	x := s.launch(id, "trap 'echo caught' INT; echo ready; while :; do sleep 0.01; if test -e stop; then exit 0; fi; done")
	x = s.poll(id, x.ExecID, x.Cursor, 10)
	if err := send(x.ExecID, "INT"); err != nil {
		t.Fatal(err)
	}
	if x = s.poll(id, x.ExecID, x.Cursor, 10); x.Stdout != "caught\n" || x.Status != schemas.ExecRunning {
		t.Errorf("then: %+v", x)
	}
}

// Kill ends all that the command started, also after it has ended by itself.
func TestKillExec(t *testing.T) {
	s := start(t)
	id := s.create().ID
	still := func() {
		t.Helper()
		before := s.mustSh(id, "cat ticks")
		time.Sleep(30 * time.Millisecond)
		if s.mustSh(id, "cat ticks") != before {
			t.Error("something goes on")
		}
	}
	const ticking = "(while :; do echo a >> ticks; sleep 0.005; done) & "
	for _, line := range []string{ticking + "echo on; sleep 60", ticking + "echo over"} {
		x := s.launch(id, line)
		x = s.poll(id, x.ExecID, x.Cursor, 10)
		eventually(t, "ticking", func() bool { r, _ := s.sh(id, "cat ticks"); return r.Stdout != "" })
		for range 3 {
			if err := s.KillExec(t.Context(), owner, id, x.ExecID); err != nil {
				t.Fatal(err)
			}
		}
		still()
		r := s.poll(id, x.ExecID, "", 0)
		killed := strings.HasSuffix(line, "60")
		if r.Status != schemas.ExecExited || !strings.HasPrefix(r.Stdout, "o") || (*r.ExitCode == 137) != killed || (r.Signal != nil) != killed {
			t.Errorf("%s: %+v", line, r)
		}
		s.mustSh(id, "rm ticks")
	}
}

// Background execs live in the sandbox: another server finds them again. Those
// that were waited for end with their server.
func TestBackgroundSurvivesARestart(t *testing.T) {
	s := start(t)
	id := s.create().ID
	x := s.launch(id, "echo before; read line; echo after")
	x = s.poll(id, x.ExecID, x.Cursor, 10)
	attached := make(chan error, 1)
	go func() {
		_, _, err := s.Exec(context.Background(), owner, id, schemas.ExecRequest{Command: shell("touch begun; while :; do echo a >> ticks; sleep 0.005; done"), WaitSeconds: ptr(600.0)})
		attached <- err
	}()
	eventually(t, "begun", func() bool { r, _ := s.sh(id, "test -e begun"); return r.ExitCode == 0 })
	s.Close()
	wantKind(t, <-attached, manager.KindUnavailable)

	s = restart(t, s)
	ticks := s.mustSh(id, "cat ticks")
	if err := s.InputExec(t.Context(), owner, id, x.ExecID, []byte("\n"), false); err != nil {
		t.Fatal(err)
	}
	if text, r := s.rest(id, x.ExecID, x.Cursor); text != "after\n" || *r.ExitCode != 0 {
		t.Errorf("%q, %+v", text, r)
	}
	if s.mustSh(id, "cat ticks") != ticks {
		t.Error("the exec that was waited for goes on")
	}
}

// What ends a sandbox, or its container, ends its background execs, and who waits
// for them is told why.
func TestBackgroundEndsWithItsContainer(t *testing.T) {
	for name, c := range map[string]struct {
		act    func(*server, schemas.SandboxID)
		kind   manager.Kind
		reason string
		after  manager.Kind
	}{
		"rollback": {func(s *server, id schemas.SandboxID) {
			snap, err := s.Snapshot(s.t.Context(), owner, id, schemas.SnapshotRequest{})
			if err == nil {
				_, err = s.Rollback(s.t.Context(), owner, id, schemas.RollbackRequest{SnapshotID: snap.ID})
			}
			if err != nil {
				s.t.Error(err)
			}
		}, manager.KindGone, manager.ReasonRolledBack, manager.KindNotFound},
		"destroy": {func(s *server, id schemas.SandboxID) {
			if err := s.Destroy(s.t.Context(), owner, id); err != nil {
				s.t.Error(err)
			}
		}, manager.KindGone, manager.ReasonDestroyed, manager.KindNotFound},
		"expiry":         {func(*server, schemas.SandboxID) { time.Sleep(1000 * time.Second) }, manager.KindGone, manager.ReasonExpired, manager.KindNotFound},
		"container stop": {func(s *server, id schemas.SandboxID) { s.fake.StopContainer(containerOf(id)) }, manager.KindNotFound, "", manager.KindNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t)
				id := s.create().ID
				x := s.launch(id, "while :; do sleep 1; echo a >> ticks; done").ExecID
				done := make(chan error, 1)
				go func() {
					_, err := s.WatchExec(t.Context(), owner, id, x, schemas.ExecPoll{WaitSeconds: ptr(60.0)}, 0, nil)
					for err == nil {
						_, err = s.PollExec(t.Context(), owner, id, x, schemas.ExecPoll{WaitSeconds: ptr(60.0)})
					}
					done <- err
				}()
				synctest.Wait()
				c.act(s, id)
				if e := wantKind(t, <-done, c.kind); e.Reason != c.reason {
					t.Errorf("error is %+v", e)
				}
				_, err := s.PollExec(t.Context(), owner, id, x, schemas.ExecPoll{})
				wantKind(t, err, c.after)
			})
		})
	}
}

// A poll whose connection breaks is made again.
func TestPollIsRepeated(t *testing.T) {
	s := start(t)
	id := s.create().ID
	x := s.launch(id, "echo a; sleep 60").ExecID
	s.poll(id, x, "", 10)
	for _, op := range []backendtest.Op{backendtest.OpPoll, backendtest.OpExecs, backendtest.OpKill} {
		s.fake.Inject(op, backendtest.Fault{Times: 1, After: &manager.Error{Kind: manager.KindLost}})
	}
	if r := s.poll(id, x, "", 10); r.Stdout != "a\n" {
		t.Errorf("got %+v", r)
	}
	if list, err := s.ListExecs(t.Context(), owner, id); err != nil || len(list.Execs) != 1 {
		t.Errorf("list is %+v, %v", list, err)
	}
	if err := s.KillExec(t.Context(), owner, id, x); err != nil {
		t.Error(err)
	}
}

// A guest that does not answer holds nobody up.
func TestBackgroundGuestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		x := s.launch(id, "sleep 600").ExecID
		for _, op := range []backendtest.Op{backendtest.OpPoll, backendtest.OpExecs, backendtest.OpKill, backendtest.OpSignal, backendtest.OpExec} {
			s.fake.Inject(op, backendtest.Fault{Times: 1, Wait: make(chan struct{})})
		}
		_, poll := s.PollExec(t.Context(), owner, id, x, schemas.ExecPoll{WaitSeconds: ptr(5.0)})
		_, list := s.ListExecs(t.Context(), owner, id)
		for what, err := range map[string]error{
			"poll": poll, "list": list, "kill": s.KillExec(t.Context(), owner, id, x),
			"signal": s.SignalExec(t.Context(), owner, id, x, schemas.SignalRequest{Signal: "INT"}),
		} {
			if manager.KindOf(err) != manager.KindUnavailable {
				t.Errorf("%s: %v", what, err)
			}
		}
		begin := time.Now()
		_, _, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("true"), Background: true})
		wantKind(t, err, manager.KindBackend)
		if took := time.Since(begin); took > 9*time.Second {
			t.Errorf("took %v", took)
		}
		if r := s.poll(id, x, "", 0); r.Status != schemas.ExecRunning {
			t.Errorf("then: %+v", r)
		}
	})
}

// What a guest says is not trusted.
func TestBackgroundGuestLies(t *testing.T) {
	f := backendtest.NewFake(t)
	var lie func(*manager.ExecState)
	s := restart(t, &server{t: t, fake: f, cfg: testConfig(t)}, wrapped{f, func(g manager.Guest) manager.Guest { return liar{g, &lie} }})
	id := s.create().ID
	x := s.launch(id, "sleep 600").ExecID
	for name, l := range map[string]func(*manager.ExecState){
		"huge totals":     func(r *manager.ExecState) { r.Exit.StdoutBytes = math.MaxInt64 },
		"negative totals": func(r *manager.ExecState) { r.Exit.StdoutBytes = math.MinInt64 },
		"huge start":      func(r *manager.ExecState) { r.Stdout = math.MaxInt64 },
		"negative start":  func(r *manager.ExecState) { r.Stdout = math.MinInt64 },
		"ended, and more": func(r *manager.ExecState) { r.Running, r.Exit.StderrBytes = false, 99 },
		"another time":    func(r *manager.ExecState) { r.Started = time.Unix(1<<50, 0) },
		"long":            func(r *manager.ExecState) { r.Argv = []string{strings.Repeat("\xff", 1<<20)} },
	} {
		lie = l
		r := s.poll(id, x, "3-0", 0)
		if r.StdoutBytes < 0 || r.StdoutDroppedBytes < 0 || r.DroppedBytes < 0 || len(r.Command) > 1000 || r.StartedAt.Year() > 9999 {
			t.Errorf("%s: %+v", name, r)
		}
		begin := time.Now()
		if _, err := s.WatchExec(t.Context(), owner, id, x, schemas.ExecPoll{WaitSeconds: ptr(0.1)}, 0, func(schemas.Stream, int64, []byte) {}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

type liar struct {
	manager.Guest
	lie *func(*manager.ExecState)
}

func (l liar) Poll(ctx context.Context, id schemas.ExecID, o manager.PollOptions, emit func(schemas.Stream, []byte) error) (manager.ExecState, error) {
	o.Stdout = 0
	r, err := l.Guest.Poll(ctx, id, o, emit)
	(*l.lie)(&r)
	return r, err
}

// A command that is handed over to a caller who has just gone away is killed:
// nobody knows it.
func TestHandOverToNobody(t *testing.T) {
	f := backendtest.NewFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := restart(t, &server{t: t, fake: f, cfg: testConfig(t)}, wrapped{f, func(g manager.Guest) manager.Guest { return late{g, cancel} }})
	id := s.create().ID
	if _, _, err := s.Exec(ctx, owner, id, schemas.ExecRequest{Command: shell("sleep 600"), Background: true}); err != context.Canceled {
		t.Errorf("error is %v", err)
	}
	list, err := s.ListExecs(t.Context(), owner, id)
	if err != nil || len(list.Execs) != 1 || list.Execs[0].Status != schemas.ExecExited {
		t.Errorf("there are %+v, %v", list, err)
	}
}

// late is a guest whose answer comes when the caller has gone.
type late struct {
	manager.Guest
	cancel func()
}

func (l late) Exec(ctx context.Context, c manager.Command, emit func(schemas.Stream, []byte) error) (manager.Exit, error) {
	exit, err := l.Guest.Exec(ctx, c, emit)
	l.cancel()
	return exit, err
}

// wrapped is a backend with guests of another kind.
type wrapped struct {
	*backendtest.Fake
	wrap func(manager.Guest) manager.Guest
}

func (w wrapped) Create(ctx context.Context, ref manager.Ref, spec manager.Spec, image manager.Image) (manager.Guest, error) {
	return w.wrapped(w.Fake.Create(ctx, ref, spec, image))
}

func (w wrapped) Open(ctx context.Context, ref manager.Ref, spec manager.Spec, image manager.Image) (manager.Guest, error) {
	return w.wrapped(w.Fake.Open(ctx, ref, spec, image))
}

func (w wrapped) wrapped(g manager.Guest, err error) (manager.Guest, error) {
	if err != nil {
		return nil, err
	}
	return w.wrap(g), nil
}
