package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestIsolation holds every property against the base image, in every state that a
// sandbox can come into, and against images that make it hard.
func TestIsolation(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST, "--default-image="+base, "--default-memory-mb=64", "--default-cpus=0.5", "--default-pids-limit=64",
		"--tmp-size-mb=16", "--warm-pool=1")
	claimed := s.claim()
	claimed.putProbe()
	fresh := s.create(args{"image": "mcp-sandbox/base"}) // no other name has spares
	fresh.putProbe()
	snap := fresh.snapshot("with the probe")

	found := s.measure(map[string]func() *sandbox{
		"from the pool": func() *sandbox { return claimed },
		"fresh":         func() *sandbox { return fresh },
		"forked":        func() *sandbox { return s.fork(snap.ID) },
		"rolled back":   func() *sandbox { b := s.fork(snap.ID); b.rollback(snap.ID); return b },
		"made again":    func() *sandbox { b := s.fork(snap.ID); b.loseContainer(); return b },
	})
	for name, m := range s.measure(hardImages(s)) {
		found[name] = m
	}
	s.restart()
	for name, m := range s.measure(map[string]func() *sandbox{"after a crash": func() *sandbox { return fresh }}) {
		found[name] = m
	}
	for name, m := range found {
		t.Run(name, func(t *testing.T) { m.hold(t, properties) })
	}
	t.Run("image environment/odd values arrive", func(t *testing.T) { oddEnvironment(t, found["image environment"]) })
}

// claim makes a sandbox out of the pool. On a busy machine a spare may not answer in
// time, and a sandbox is made anew.
func (s *server) claim() (b *sandbox) {
	s.t.Helper()
	eventually(s.t, 3*time.Minute, "a sandbox comes out of the pool", func() (bool, any) {
		spare := s.awaitSpares(1)
		b = s.create()
		id := s.mustDocker("inspect", "-f", "{{.Id}}", s.containerOf(string(b.ID)))
		if id == spare[0] {
			return true, id
		}
		check(s.t, s.destroy(b.ID))
		return false, spare
	})
	return b
}

// hardImages lack what images have, or bring what must not count.
func hardImages(s *server) map[string]func() *sandbox {
	all := map[string]func() *sandbox{}
	for _, name := range []string{"noshell", "busybox", "workspace", "volume", "volume-workspace", "link-workspace", "environment"} {
		all["image "+name] = func() *sandbox {
			b := s.create(args{"image": "mcp-sandbox/test-" + name})
			b.putProbe()
			return b
		}
	}
	return all
}

// oddEnvironment: what a program can be given of an image's environment it gets,
// and what no program can be given spoils nothing.
func oddEnvironment(t *testing.T, m measured) {
	for _, line := range []string{"PATH=/nowhere", "my.name=dots", "a-b=dash", "1st=digit", "FILL_300=" + strings.Repeat("x", 2000)} {
		if !strings.Contains(m.probe["everything to be read"], "\n"+line+"\n") {
			t.Errorf("a command does not have %.40s", line)
		}
	}
	if strings.Contains(m.probe["everything to be read"], "TOO_LONG") {
		t.Error("a command has more than the kernel takes in one string")
	}
}

// probeProgram is the program of e2e/probe, for any Linux.
var probeProgram = sync.OnceValues(func() ([]byte, error) {
	path, err := buildProgram("probe", "./probe", "-trimpath", "-ldflags=-s -w")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// putProbe writes the probe into the workspace.
func (b *sandbox) putProbe() {
	b.t.Helper()
	program, err := probeProgram()
	check(b.t, err)
	if r := b.do(http.MethodPut, b.file("probe")+"&mode=755", bytes.NewReader(program)); r.status != 200 {
		b.t.Fatalf("write the probe: %d %s", r.status, r.body)
	}
}

// runProbe runs it by argv, for there may be no shell. Its child that takes all
// memory is killed; when that one's pages are not all given back by the time
// somebody wants the next, the kernel kills the probe as well. Then it is run again.
func (b *sandbox) runProbe(more ...string) map[string]string {
	b.t.Helper()
	var r schemas.ExecResult
	for range 5 {
		r = call[schemas.ExecResult](b.server, "exec", args{
			"sandbox_id": b.ID, "argv": append([]string{"/workspace/probe"}, more...), "timeout_seconds": callLimit.Seconds(),
		})
		if r.Stdout != "" || r.TimedOut || !r.OOMKilled {
			break
		}
	}
	findings := map[string]string{}
	if err := json.Unmarshal([]byte(r.Stdout), &findings); err != nil {
		b.t.Fatalf("probe %q: %v; exit code %d\n%.300s\n%s", more, err, r.ExitCode, r.Stdout, r.Stderr)
	}
	return findings
}

// loseContainer removes a sandbox's container; the next use makes another.
func (b *sandbox) loseContainer() {
	b.t.Helper()
	b.mustDocker("rm", "-f", b.onlyContainer())
}

// onlyContainer waits until what a rollback has replaced is removed.
func (b *sandbox) onlyContainer() string {
	b.t.Helper()
	eventually(b.t, settleTime, "one container is left", func() (bool, any) {
		ids := b.found("ps", "-aq", "--filter", "name="+strings.TrimPrefix(string(b.ID), "sb_"))
		return len(ids) == 1, ids
	})
	return b.containerOf(string(b.ID))
}

// measure makes sandboxes, three at a time, and looks at each from both sides.
func (s *server) measure(states map[string]func() *sandbox) map[string]measured {
	s.t.Helper()
	var (
		g   errgroup.Group
		mu  sync.Mutex
		all = map[string]measured{}
	)
	g.SetLimit(3)
	for name, state := range states {
		g.Go(func() error {
			m := state().measure()
			mu.Lock()
			defer mu.Unlock()
			all[name] = m
			return nil
		})
	}
	check(s.t, g.Wait())
	if len(all) != len(states) {
		s.t.FailNow()
	}
	return all
}

// measure is what a sandbox is like.
func (b *sandbox) measure() measured {
	b.t.Helper()
	m := measured{sandbox: b.Sandbox, probe: b.runProbe()}
	m.inspect = b.inspectAll()
	var secrets []string
	for _, secret := range []string{b.dir, aliceKey, bobKey, "AGENT_SANDBOX", "DOCKER_HOST"} {
		if strings.Contains(m.probe["everything to be read"], secret) {
			secrets = append(secrets, secret)
		}
	}
	m.probe["secrets of the server's to be read"] = none(strings.Join(secrets, " "))
	m.probe["one process more"] = moreThan(b.PidsLimit, m.probe["processes"])
	return m
}

// moreThan tells whether so many processes are what a limit lets through. The
// guest and the probe itself take some of it, and a margin is the guest's.
func moreThan(limit int64, started string) string {
	const guestThreads = 20
	if n, err := strconv.ParseInt(started, 10, 64); err != nil || n < limit/2 || n > limit+guestThreads {
		return "refused after " + started
	}
	return "refused"
}

// inspectAll is what "docker inspect" says of a sandbox's container.
func (b *sandbox) inspectAll() map[string]any {
	b.t.Helper()
	var all []map[string]any
	d := json.NewDecoder(strings.NewReader(b.mustDocker("inspect", b.onlyContainer())))
	d.UseNumber()
	if err := d.Decode(&all); err != nil || len(all) != 1 {
		b.t.Fatalf("read docker inspect: %v", err)
	}
	return all[0]
}

func none(s string) string {
	if s == "" || slices.Contains([]string{"null", "[]", "{}", `""`}, s) {
		return "none"
	}
	return s
}
