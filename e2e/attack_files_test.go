package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// flipping swaps what the names d and f lead to as fast as it can: a directory, a
// link out to /tmp/out, one to the root and to /proc/1/root; a file, a link to a
// file outside, a FIFO, a hard link.
const flipping = `exec python3 -c '
import os
os.makedirs("/tmp/out", exist_ok=True)
open("/tmp/out/canary", "w").write("canary")
def put(make, name):
    try: os.remove("new")
    except OSError: pass
    try:
        make("new")
        os.rename("new", name)
    except OSError: pass
targets = ["/tmp/out", "/", "/proc/1/root", "/proc/self/cwd", "..", "/dev", "loop"]
files = [lambda n: open(n, "w").write("inside"), lambda n: os.symlink("/tmp/out/canary", n), os.mkfifo, lambda n: os.symlink("/dev/zero", n),
    lambda n: os.link("kept", n), lambda n: os.symlink("/proc/self/mem", n), lambda n: os.symlink("/tmp/out/new", n)]
open("kept", "w").write("kept")
i = 0
while True:
    i += 1
    try:
        if os.path.islink("d"): os.remove("d")
        else: os.rename("d", "old%d" % (i % 3))
    except OSError: pass
    if i % 2: put(lambda n: os.symlink(targets[i // 2 % len(targets)], n), "d")
    else:
        try: os.mkdir("d")
        except OSError: pass
    put(files[i % len(files)], "f")
'`

// TestAttackFiles: names that lead elsewhere from one moment to the next, under
// every call that takes one. Nothing outside the workspace is changed, nothing is
// somebody else's, and every call ends with an answer or a reason.
func TestAttackFiles(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST)
	b := s.create(args{"image": base})
	b.must("echo marker > marker")
	stop := b.inWhile(flipping)
	eventually(t, 30*time.Second, "names are swapped", func() (bool, any) {
		r := b.sh("test -s /tmp/out/canary && test -e kept")
		return r.ExitCode == 0, r
	})
	packed := tarHeader("d/new", 0) + strings.Repeat("\x00", 1024)
	end := time.Now().Add(time.Duration(count(3, 60)) * time.Second)
	repeat(t, 4, 4, func(int) error {
		for n := 0; n < 1 || time.Now().Before(end); n++ {
			for _, name := range []string{"d/canary", "d/new", "f", "d", "d/tmp/out/new", "d/out/canary"} {
				at := "path=" + url.QueryEscape(name)
				for _, call := range []struct{ method, rest, body string }{
					{"PUT", "/files?" + at, "changed"},
					{"GET", "/files?" + at, ""},
					{"GET", "/files/list?limit=10&" + at, ""},
					{"POST", "/files/mkdir", fmt.Sprintf(`{"path":%q}`, name+"/x")},
					{"POST", "/files/move", fmt.Sprintf(`{"from":"kept","to":%q}`, name)},
					{"POST", "/files/move", fmt.Sprintf(`{"from":%q,"to":"moved"}`, name)},
					{"PUT", "/archive?" + at, packed},
					{"GET", "/archive?" + at, ""},
					{"DELETE", "/files?recursive=true&" + at, ""},
				} {
					if err := b.ends(call.method, call.rest, call.body); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	snap := b.snapshot("meanwhile")
	stop()
	b.must("test \"$(cat /tmp/out/canary)\" = canary && test \"$(ls -A /tmp /tmp/out | tr '\\n' ' ')\" = '/tmp: out  /tmp/out: canary '")
	if alien := b.must("find . ! -user 1000 -o ! -group 1000; find / -xdev -newer marker ! -type d 2>/dev/null; true"); strings.TrimSpace(alien) != "" {
		t.Errorf("of others, or outside: %s", alien)
	}
	b.unharmed()
	s.fork(snap.ID).unharmed()
}

// ends makes a call whose outcome does not matter, but that it has one: an answer,
// or an error that has a code and is not the server's own.
func (b *sandbox) ends(method, rest, body string) error {
	c, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := b.Request(c, method, b.at(rest), strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, rest, err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 100_000)) // of the whole root, it may be
	var e schemas.ErrorBody
	if resp.StatusCode >= 400 && (json.Unmarshal(text, &e) != nil || e.Error.Code == "" || e.Error.Code == schemas.CodeInternal || resp.StatusCode == 500) {
		return fmt.Errorf("%s %s: %d %s", method, rest, resp.StatusCode, text)
	}
	return nil
}

// inWhile runs a command until stop, which kills it.
func (b *sandbox) inWhile(command string) (stop func()) {
	b.t.Helper()
	c, cancel := context.WithCancel(ctx(b.t))
	wait := inBackground(func() { b.shContext(c, command, args{"timeout_seconds": 300}) })
	return func() { cancel(); wait() }
}
