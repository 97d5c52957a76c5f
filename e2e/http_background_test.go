package e2e

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestBackgroundOverREST: what needs every byte, or a look at the server.
func TestBackgroundOverREST(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST)
	runCases(t, s.create(args{"image": base}), []testCase[*sandbox]{
		{"100 MB and a slow poller", slowPoller},
		{"a client that goes away", backgroundClientGoes},
		{"a container that was stopped", backgroundContainerStops},
	})
}

// slowPoller: each byte is either where its offset says, or counted as dropped.
func slowPoller(b *sandbox) {
	const total = 100_000_000
	b.write("lines.py", "import sys\nfor n in range(0, 10_000_000, 1000):\n    sys.stdout.write(''.join('%09d\\n' % i for i in range(n, n + 1000)))\n")
	j := b.launch("python3 lines.py", args{"background": true, "encoding": "base64"})
	var at, read, dropped int64
	for deadline := time.Now().Add(callLimit); ; {
		a := j.args().with(args{"cursor": j.Cursor, "wait_seconds": 10, "encoding": "base64", "max_output_bytes": 300_001})
		j = &job{b: b}
		check(b.t, b.Call(ctx(b.t), "exec_poll", a, j))
		chunk, err := base64.StdEncoding.DecodeString(j.Stdout)
		check(b.t, err)
		at += j.StdoutDroppedBytes
		if want := linesFrom(at, len(chunk)); string(chunk) != want {
			b.t.Fatalf("at %d: %.30q, want %.30q", at, chunk, want)
		}
		at, read, dropped = at+int64(len(chunk)), read+int64(len(chunk)), dropped+j.DroppedBytes
		if j.Cursor != fmt.Sprintf("%d-0", at) {
			b.t.Fatalf("the cursor is %s at %d", j.Cursor, at)
		}
		if j.Status == schemas.ExecExited && !j.More {
			break
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("it does not end: %+v", j.ExecInfo)
		}
		time.Sleep(20 * time.Millisecond) // it is slow
	}
	if read+dropped != total || j.StdoutBytes != total || j.exitCode() != 0 {
		b.t.Errorf("%d read and %d dropped of %d: %+v", read, dropped, total, j.ExecInfo)
	}
	b.t.Logf("%d read, %d dropped", read, dropped)
}

// linesFrom is a part of all nine-digit numbers, a line each.
func linesFrom(offset int64, n int) string {
	var text strings.Builder
	first := offset / 10
	for i := first; text.Len() < n+10; i++ {
		fmt.Fprintf(&text, "%09d\n", i)
	}
	skip := int(offset - first*10)
	return text.String()[skip : skip+n]
}

// backgroundClientGoes: who polls may go, and so may who has started it.
func backgroundClientGoes(b *sandbox) {
	j := b.launch("sleep 600", args{"wait_seconds": 0.2})
	c := within(b.t, time.Second)
	path := "/v1/sandboxes/" + string(b.ID) + "/execs/" + string(j.ExecID) + "?" + url.Values{"wait_seconds": {"60"}}.Encode()
	req, err := b.Request(c, "GET", path, nil)
	check(b.t, err)
	if resp, err := b.HTTP.Do(req); err == nil {
		resp.Body.Close()
		b.t.Error("the poll has news")
	}
	b.HTTP.CloseIdleConnections()
	if now := j.poll(0); now.Status != schemas.ExecRunning {
		b.t.Errorf("it is %+v", now.ExecInfo)
	}
	check(b.t, b.Call(ctx(b.t), "exec_kill", j.args(), nil))
	if n := processes(b); n != 0 {
		b.t.Errorf("%d processes are left", n)
	}
}

// backgroundContainerStops: they end with their container, and are said to.
func backgroundContainerStops(b *sandbox) {
	j := b.launch("sleep 600")
	mustDocker(b.t, "kill", b.containerOf(string(b.ID)))
	err := b.refuse("exec_poll", j.args().with(args{"wait_seconds": 10}), schemas.CodeNotFound)
	if err != nil && !strings.Contains(err.Error(), "container restarts") {
		b.t.Errorf("the message does not tell why: %v", err)
	}
	b.alive()
	if list := call[schemas.ExecList](b.server, "exec_poll", args{"sandbox_id": b.ID}); len(list.Execs) != 0 {
		b.t.Errorf("there are %+v", list)
	}
}
