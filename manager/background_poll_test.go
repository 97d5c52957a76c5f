package manager_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestPollWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		x := s.launch(id, "sleep 5; echo news; sleep 5")
		for _, c := range []struct {
			wait float64
			took time.Duration
			text string
		}{{0, 0, ""}, {3, 3, ""}, {60, 2, "news\n"}, {2, 2, ""}, {60, 3, ""}, {60, 0, ""}} {
			begin := time.Now()
			r := s.poll(id, x.ExecID, x.Cursor, c.wait)
			if took := time.Since(begin).Round(time.Second); took != c.took*time.Second || r.Stdout != c.text {
				t.Errorf("waiting %v s took %v and gave %q; want %d s and %q", c.wait, took, r.Stdout, c.took, c.text)
			}
			x = r
		}
		if x.Status != schemas.ExecExited {
			t.Errorf("ended as %+v", x)
		}
	})
}

// Cursor and dropped bytes add up, however late a reader comes.
func TestSlowPoller(t *testing.T) {
	s := start(t)
	id := s.create().ID
	x := s.launch(id, "while :; do head -c 700001 /dev/zero; echo e >&2; sleep 0.002; if test -e stop; then exit 0; fi; done")
	var got, dropped, errs int64
	for i := 0; ; i++ {
		r, err := s.PollExec(t.Context(), owner, id, x.ExecID, schemas.ExecPoll{Cursor: x.Cursor, WaitSeconds: ptr(5.0), MaxOutputBytes: ptr[int64](300_000)})
		if err != nil {
			t.Fatal(err)
		}
		got += int64(len(r.Stdout))
		errs += int64(len(r.Stderr))
		dropped += r.StdoutDroppedBytes
		if r.DroppedBytes != r.StdoutDroppedBytes+r.StderrDroppedBytes {
			t.Fatalf("drops are %+v", r)
		}
		if i == 20 {
			s.mustSh(id, "touch stop")
		}
		if x = r; r.Status == schemas.ExecExited && !r.More {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if got+dropped != x.StdoutBytes || x.StdoutBytes%700001 != 0 || errs != x.StderrBytes || dropped == 0 {
		t.Errorf("%d read and %d dropped of %d; %d of %d", got, dropped, x.StdoutBytes, errs, x.StderrBytes)
	}
	all := s.poll(id, x.ExecID, "", 0)
	if all.StdoutDroppedBytes+int64(len(all.Stdout)) != x.StdoutBytes || len(all.Stdout) != 1<<20 {
		t.Errorf("from the start: %d dropped, %d kept", all.StdoutDroppedBytes, len(all.Stdout))
	}
}

// A character is never split over two polls, and waiting for its rest is waiting.
func TestPollKeepsCharactersWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		x := s.launch(id, `printf 'a\360'; sleep 2; printf '\237'; sleep 2; printf '\230'; sleep 2; printf '\200z'; sleep 2; printf '\303'`)
		before := s.fake.Calls(backendtest.OpPoll)
		for _, c := range []struct {
			text string
			took time.Duration
		}{{"a", 0}, {"\U0001F600z", 6}, {"\uFFFD", 2}} {
			begin := time.Now()
			r := s.poll(id, x.ExecID, x.Cursor, 60)
			if took := time.Since(begin).Round(time.Second); r.Stdout != c.text || took != c.took*time.Second || r.More {
				t.Errorf("got %q after %v, more %v; want %q after %d s", r.Stdout, took, r.More, c.text, c.took)
			}
			x = r
		}
		if n := s.fake.Calls(backendtest.OpPoll) - before; n > 15 {
			t.Errorf("the guest was polled %d times", n)
		}
	})
}

// Every limit gets a reader on, whatever the bytes.
func TestPollLimits(t *testing.T) {
	s := start(t)
	id := s.create().ID
	for _, c := range []struct{ printf, want string }{
		{`\377\376a\303`, "\uFFFD\uFFFDa\uFFFD"},
		{`é😀é`, "é😀é"},
		{`\360\237x`, "\uFFFDx"},
	} {
		x := s.launch(id, "printf '"+c.printf+"'")
		for limit := range int64(8) {
			text := ""
			r, err := s.PollExec(t.Context(), owner, id, x.ExecID, schemas.ExecPoll{MaxOutputBytes: ptr[int64](0), WaitSeconds: ptr(5.0)})
			for n := 0; err == nil && (n == 0 || r.More) && n < 20 && limit > 0; n++ {
				eventually(t, "end", func() bool { return s.poll(id, x.ExecID, "", 1).Status == schemas.ExecExited })
				r, err = s.PollExec(t.Context(), owner, id, x.ExecID, schemas.ExecPoll{Cursor: r.Cursor, MaxOutputBytes: &limit})
				text += r.Stdout
			}
			if limit == 0 && (r.Stdout != "" || !r.More || r.Cursor != "0-0") || limit > 0 && text != c.want || err != nil {
				t.Errorf("%s, at most %d bytes: %q, %+v, %v", c.printf, limit, text, r, err)
			}
		}
	}
}

// Two readers of one exec get the same.
func TestTwoPollers(t *testing.T) {
	s := start(t)
	id := s.create().ID
	x := s.launch(id, "while :; do echo line; sleep 0.001; if test -e stop; then exit 0; fi; done")
	var texts [2]string
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() { texts[i], _ = s.rest(id, x.ExecID, "") })
	}
	time.Sleep(30 * time.Millisecond)
	s.mustSh(id, "touch stop")
	wg.Wait()
	if texts[0] != texts[1] || !strings.HasSuffix(texts[0], "line\n") {
		t.Errorf("one got %d bytes, the other %d", len(texts[0]), len(texts[1]))
	}
}

// A poll that races the end gets all of it.
func TestPollRacesTheEnd(t *testing.T) {
	s := start(t)
	id := s.create().ID
	for range 500 {
		x := s.launch(id, "echo out; echo err >&2; exit 9")
		stderr, cursor := "", x.Cursor
		stdout := ""
		for {
			r := s.poll(id, x.ExecID, cursor, 10)
			stdout, stderr, cursor = stdout+r.Stdout, stderr+r.Stderr, r.Cursor
			if r.Status == schemas.ExecExited && !r.More {
				if *r.ExitCode != 9 || stdout != "out\n" || stderr != "err\n" {
					t.Fatalf("%q, %q, %+v", stdout, stderr, r)
				}
				break
			}
		}
	}
}

// WatchExec goes on to the end, or to the end of its wait, or to a silence.
func TestWatchExec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		x := s.launch(id, `sleep 2; printf 'a\303'; sleep 0.1; printf '\251b'; sleep 3; echo c >&2; sleep 2; echo d`)
		for _, c := range []struct {
			wait   float64
			quiet  time.Duration
			took   time.Duration
			text   string
			cursor string
		}{
			{1, time.Second, 1000, "", "0-0"},
			{30, time.Second, 2100, "aéb", "4-0"},
			{1.4, 0, 1400, "", "4-0"},
			{30, 0, 2500, "c\nd\n", "6-2"},
		} {
			begin, text := time.Now(), ""
			r, err := s.WatchExec(t.Context(), owner, id, x.ExecID, schemas.ExecPoll{Cursor: x.Cursor, WaitSeconds: &c.wait}, c.quiet,
				func(_ schemas.Stream, _ int64, chunk []byte) { text += string(chunk) })
			took := time.Since(begin).Round(100 * time.Millisecond)
			if err != nil || text != c.text || r.Cursor != c.cursor || took < c.took*time.Millisecond || took > (c.took+300)*time.Millisecond {
				t.Errorf("%v s, quiet %v: %q, cursor %s after %v, %v; want %q, %s after %d ms", c.wait, c.quiet, text, r.Cursor, took, err, c.text, c.cursor, c.took)
			}
			x = r
		}
		if x.Status != schemas.ExecExited || *x.ExitCode != 0 || x.Stdout != "" {
			t.Errorf("ended as %+v", x)
		}
	})
}

// One that watches a flood comes back in time, and knows what it has missed.
func TestWatchFlood(t *testing.T) {
	s := start(t)
	id := s.create().ID
	x := s.launch(id, "yes")
	var got, gaps int64
	begin := time.Now()
	r, err := s.WatchExec(t.Context(), owner, id, x.ExecID, schemas.ExecPoll{WaitSeconds: ptr(0.3)}, 0, func(_ schemas.Stream, skipped int64, chunk []byte) {
		gaps += skipped
		got += int64(len(chunk))
	})
	if err != nil || r.Status != schemas.ExecRunning || gaps != r.DroppedBytes || r.Cursor != fmt.Sprintf("%d-0", got+gaps) {
		t.Errorf("%d read, %d missed, %+v, %v", got, gaps, r, err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
