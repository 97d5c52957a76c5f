package manager_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func shell(line string) schemas.Command { return schemas.Command{Shell: line} }

func TestExec(t *testing.T) {
	s := start(t)
	id := s.create().ID
	r, err := s.sh(id, "echo out; echo err >&2; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	if r.Stdout != "out\n" || r.Stderr != "err\n" || r.ExitCode != 3 || r.Truncated || r.Encoding != "utf-8" || r.StdoutBytes != 4 {
		t.Errorf("result is %+v", r)
	}
	if dir := s.mustSh(id, "pwd"); dir != "/workspace\n" {
		t.Errorf("working directory is %q", dir)
	}
}

func TestExecRefuses(t *testing.T) {
	s := start(t)
	id := s.create().ID
	type req = schemas.ExecRequest
	sh := shell("true")
	args := func(a ...string) schemas.Command { return schemas.Command{Argv: a} }
	cases := map[string]struct {
		req   req
		names string
	}{
		"no command":            {req{}, "command"},
		"blank command":         {req{Command: shell(" \n\t")}, "command"},
		"empty program":         {req{Command: args("")}, "command"},
		"NUL":                   {req{Command: shell("echo a\x00b")}, "NUL"},
		"long argument":         {req{Command: args("echo", strings.Repeat("x", 128<<10))}, "131072"},
		"long command":          {req{Command: args(slices.Repeat([]string{strings.Repeat("x", 100<<10)}, 16)...)}, "1572864"},
		"B8 timeout 0":          {req{Command: sh, TimeoutSeconds: ptr(0.0)}, "timeout_seconds is 0"},
		"B8 timeout negative":   {req{Command: sh, TimeoutSeconds: ptr(-1.0)}, "timeout_seconds is -1"},
		"B8 timeout huge":       {req{Command: sh, TimeoutSeconds: ptr(1.2e12)}, "at most 3600"},
		"B8 timeout 2^63":       {req{Command: sh, TimeoutSeconds: ptr(math.Pow(2, 63))}, "at most 3600"},
		"B8 timeout NaN":        {req{Command: sh, TimeoutSeconds: ptr(nan)}, "timeout_seconds is NaN"},
		"B9 limit is named":     {req{Command: sh, TimeoutSeconds: ptr(3601.0)}, "3601; allowed is more than 0 and at most 3600"},
		"both stdins":           {req{Command: sh, Stdin: ptr(""), StdinBase64: ptr("")}, "stdin_base64"},
		"bad base64":            {req{Command: sh, StdinBase64: ptr("!")}, "stdin_base64"},
		"encoding":              {req{Command: sh, Encoding: "latin1"}, "latin1"},
		"cap negative":          {req{Command: sh, MaxOutputBytes: ptr[int64](-1)}, "max_output_bytes is -1; it must not be below 0"},
		"workdir NUL":           {req{Command: sh, Workdir: "a\x00"}, "workdir"},
		"workdir long":          {req{Command: sh, Workdir: strings.Repeat("a", 256)}, "workdir"},
		"F15 workdir not there": {req{Command: sh, Workdir: "nowhere"}, "nowhere"},
		"F17 env key":           {req{Command: sh, Env: map[string]string{"1A": "x"}}, "1A"},
		"env and command long":  {req{Command: args("echo", strings.Repeat("x", 120<<10)), Env: bigEnv()}, "command and environment"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := s.Exec(t.Context(), owner, id, c.req)
			wantInvalid(t, err, c.names)
		})
	}
}

// What to do about a timeout depends on what is wrong with it.
func TestHintsOfTimeouts(t *testing.T) {
	s := start(t)
	id := s.create().ID
	for name, c := range map[string]struct {
		seconds    float64
		background bool
		hint       string
	}{
		"none":                     {0, false, ""},
		"none in the background":   {0, true, ""},
		"no number":                {nan, false, ""},
		"too long":                 {3601, false, "Start longer work with background"},
		"too long for a sandbox":   {86401, false, "Start longer work with background"},
		"too long, and background": {86401, true, "No sandbox is given a longer life"},
	} {
		req := schemas.ExecRequest{Command: shell("true"), TimeoutSeconds: &c.seconds, Background: c.background}
		_, _, err := s.Exec(t.Context(), owner, id, req)
		if e := wantKind(t, err, manager.KindInvalid); !strings.HasPrefix(e.Hint, c.hint) || c.hint == "" && e.Hint != "" {
			t.Errorf("%s: the hint is %q", name, e.Hint)
		}
	}
}

func bigEnv() map[string]string {
	env := map[string]string{}
	for i := range 12 {
		env["V"+strings.Repeat("X", i)] = strings.Repeat("x", 127<<10)
	}
	return env
}

func TestExecEnvironment(t *testing.T) {
	s := start(t)
	id := s.create(schemas.CreateSandboxRequest{Env: map[string]string{"A": "sandbox", "B": "sandbox"}}).ID
	r, _, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("env"), Env: map[string]string{"B": "call\n'\""}})
	if err != nil {
		t.Fatal(err)
	}
	want := "A=sandbox\nB=call\n'\"\nHOME=/workspace\nPATH=/usr/bin:/bin\n"
	if r.Stdout != want {
		t.Errorf("environment is %q; want %q", r.Stdout, want)
	}
}

func TestExecStdin(t *testing.T) {
	s := start(t)
	id := s.create().ID
	bytes := base64.StdEncoding.EncodeToString([]byte{0, 255, 10})
	for _, r := range []schemas.ExecRequest{{Stdin: ptr("abc")}, {StdinBase64: ptr(bytes)}, {}, {Stdin: ptr("")}} {
		r.Command, r.Encoding = shell("cat"), schemas.EncodingBase64
		got, _, err := s.Exec(t.Context(), owner, id, r)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if r.Stdin != nil {
			want = base64.StdEncoding.EncodeToString([]byte(*r.Stdin))
		} else if r.StdinBase64 != nil {
			want = *r.StdinBase64
		}
		if got.Stdout != want {
			t.Errorf("got %q; want %q", got.Stdout, want)
		}
	}
}

// A17, D7, E4: the cap is in bytes, exact, per stream, and cuts no character.
func TestD7Cap(t *testing.T) {
	s := start(t)
	id := s.create().ID
	smile := "\U0001F600"
	cases := map[string]struct {
		line      string
		max       int64
		stdout    string
		truncated bool
	}{
		"A17 below":               {"printf abc", 4, "abc", false},
		"A17 exact":               {"printf abcd", 4, "abcd", false},
		"A17 above":               {"printf abcde", 4, "abcd", true},
		"A17 many writes":         {"printf a; printf b; printf c; printf d; printf e", 4, "abcd", true},
		"nothing wanted":          {"printf abc", 0, "", true},
		"nothing there":           {"true", 0, "", false},
		"D7 cut character":        {"printf " + smile + smile, 7, smile, true},
		"D7 whole characters":     {"printf " + smile + smile, 8, smile + smile, false},
		"D7 replaced bytes":       {`printf '\377\377\377'`, 7, "\uFFFD\uFFFD", true},
		"incomplete at the end":   {`printf 'a\360\237'`, 9, "a\uFFFD", false},
		"above the server's own":  {"printf abc", 1 << 40, "abc", false},
		"A13 nothing of our own":  {":", 10, "", false},
		"E4 the other is not cut": {"printf abc; printf abcdefgh >&2", 4, "abc", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, _, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell(c.line), MaxOutputBytes: &c.max})
			if err != nil {
				t.Fatal(err)
			}
			if r.Stdout != c.stdout || r.StdoutTruncated != c.truncated {
				t.Errorf("got %q, %v; want %q, %v", r.Stdout, r.StdoutTruncated, c.stdout, c.truncated)
			}
			if r.Truncated != (r.StdoutTruncated || r.StderrTruncated) {
				t.Error("truncated does not say what the other two do")
			}
			if int64(len(r.Stdout)) > c.max || !utf8.ValidString(r.Stdout) {
				t.Errorf("got %d bytes %q", len(r.Stdout), r.Stdout)
			}
		})
	}
}

// E1, A16: what is beyond the cap does not reach the server; totals do.
func TestE1OutputBeyondTheCap(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.MaxExecOutputBytes = 1000 })
	id := s.create().ID
	r, err := s.sh(id, "head -c 5000000 /dev/zero; exit 7")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Stdout) != 1000 || !r.Truncated || r.StdoutBytes != 5000000 || r.ExitCode != 7 {
		t.Errorf("%d bytes, truncated %v, total %d, exit %d", len(r.Stdout), r.Truncated, r.StdoutBytes, r.ExitCode)
	}
}

func TestB8FractionOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		begin := time.Now()
		r, _, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("echo before; sleep 60"), TimeoutSeconds: ptr(0.5)})
		if err != nil || !r.TimedOut || r.ExitCode != 137 || r.Stdout != "before\n" {
			t.Errorf("result is %+v, %v", r, err)
		}
		if d := time.Since(begin); d > time.Second {
			t.Errorf("took %v", d)
		}
	})
}

func TestB9DefaultTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		begin := time.Now()
		if r, err := s.sh(id, "sleep 70"); err != nil || !r.TimedOut {
			t.Errorf("result is %+v, %v", r, err)
		}
		if d := time.Since(begin).Round(time.Second); d != 60*time.Second {
			t.Errorf("took %v", d)
		}
		r, _, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("sleep 70; echo ok"), TimeoutSeconds: ptr(100.0)})
		if err != nil || r.Stdout != "ok\n" {
			t.Errorf("result is %+v, %v", r, err)
		}
	})
}

func TestExecStream(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.MaxExecOutputBytes = 10 })
	id := s.create().ID
	var out, errs bytes.Buffer
	exit, _, err := s.ExecStream(t.Context(), owner, id, schemas.ExecRequest{Command: shell("head -c 300000 /dev/zero; printf tail >&2; exit 4")},
		func(stream schemas.Stream, chunk []byte) error {
			if stream == schemas.Stderr {
				errs.Write(chunk)
			} else {
				out.Write(chunk)
			}
			return nil
		})
	if err != nil || exit.ExitCode != 4 || out.Len() != 300000 || errs.String() != "tail" || exit.StdoutBytes != 300000 {
		t.Errorf("%d bytes, %q, %+v, %v", out.Len(), errs.String(), exit, err)
	}
}

// E3: a receiver that fails ends the command; one that is slow does not.
func TestExecStreamReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		broken := errors.New("broken pipe")
		_, _, err := s.ExecStream(t.Context(), owner, id, schemas.ExecRequest{Command: shell("yes")},
			func(schemas.Stream, []byte) error { return broken })
		if !errors.Is(err, broken) {
			t.Errorf("error is %v", err)
		}
		exit, _, err := s.ExecStream(t.Context(), owner, id, schemas.ExecRequest{Command: shell("echo a; echo b"), TimeoutSeconds: ptr(1.0)},
			func(schemas.Stream, []byte) error { time.Sleep(time.Minute); return nil })
		if err != nil {
			t.Errorf("a slow receiver: %+v, %v", exit, err)
		}
	})
}

// B13: the caller going away kills the command.
func TestB13CallerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := s.Exec(ctx, owner, id, schemas.ExecRequest{Command: shell("sleep 3; touch late")})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		time.Sleep(10 * time.Second)
		if r, _ := s.sh(id, "test -e late"); r.ExitCode == 0 {
			t.Error("the command went on")
		}
	})
}

// A8, A12: a container that dies under an exec ends it with a typed error; the
// exec is not run again, and the next call finds the files.
func TestA8ContainerDies(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.mustSh(id, "echo kept > f")
	started := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, _, err := s.ExecStream(t.Context(), owner, id, schemas.ExecRequest{Command: shell("echo x; sleep 300")},
			func(schemas.Stream, []byte) error { close(started); return nil })
		done <- err
	}()
	<-started
	before := s.fake.Calls(backendtest.OpExec)
	s.fake.StopContainer(containerOf(id))
	if e := wantKind(t, <-done, manager.KindBackend); !e.Retryable || !strings.Contains(e.Message, "container stopped") {
		t.Errorf("error says too little: %+v", e)
	}
	if n := s.fake.Calls(backendtest.OpExec); n != before {
		t.Errorf("the exec was run again")
	}
	if got := s.mustSh(id, "cat f"); got != "kept\n" {
		t.Errorf("file holds %q", got)
	}
}

// A guest that never reports is given up, soon after the command's timeout.
func TestExecGuestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		s.mustSh(id, "true")
		s.fake.Inject(backendtest.OpExec, backendtest.Fault{Times: 1, Wait: make(chan struct{})})
		begin := time.Now()
		_, _, err := s.Exec(t.Context(), owner, id, schemas.ExecRequest{Command: shell("true"), TimeoutSeconds: ptr(2.0)})
		wantKind(t, err, manager.KindBackend)
		if d := time.Since(begin); d > 8*time.Second {
			t.Errorf("took %v", d)
		}
		s.mustSh(id, "true")
		if n := s.fake.Calls(backendtest.OpOpen); n != 1 {
			t.Errorf("opened %d times; want a new connection", n)
		}
	})
}

func TestExecsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() { s.sh(id, "sleep 5") })
		}
		synctest.Wait()
		_, err := s.sh(id, "true")
		if e := wantKind(t, err, manager.KindLimit); !e.Retryable || !strings.HasPrefix(e.Message, "64 commands are running") {
			t.Errorf("got %+v", e)
		}
		wg.Wait()
		s.mustSh(id, "true")
	})
}

// One connection serves all, however many ask for it at once.
func TestGuestIsOpenedOnce(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.fake.StopContainer(containerOf(id))
	eventually(t, "stopped", func() bool { return s.status(id) == schemas.StatusStopped })
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if r, err := s.sh(id, "echo ok"); err != nil || r.Stdout != "ok\n" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if n := s.fake.Calls(backendtest.OpOpen); n != 1 {
		t.Errorf("opened %d times", n)
	}
}

// One caller's going away does not spoil the opening for the others.
func TestOpeningOutlivesItsFirstCaller(t *testing.T) {
	s := start(t)
	id := s.create().ID
	s.fake.StopContainer(containerOf(id))
	gate := make(chan struct{})
	s.fake.Inject(backendtest.OpOpen, backendtest.Fault{Times: 1, Wait: gate})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, _, err := s.Exec(ctx, owner, id, schemas.ExecRequest{Command: shell("true")})
		first <- err
	}()
	eventually(t, "open", func() bool { return s.fake.Calls(backendtest.OpOpen) == 1 })
	second := make(chan error, 1)
	go func() {
		_, err := s.sh(id, "true")
		second <- err
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("first: %v", err)
	}
	close(gate)
	if err := <-second; err != nil {
		t.Errorf("second: %v", err)
	}
}
