package manager_test

import (
	"os"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// I7: the server is killed before or after any step of making or destroying a
// sandbox. The next one finds just what the disk held at that moment, and ends
// with what is listed and nothing else.
func TestI7KilledAtAnyStep(t *testing.T) {
	create := func(s *server, _ schemas.SandboxID) { s.Create(s.t.Context(), owner, schemas.CreateSandboxRequest{}) }
	destroy := func(s *server, id schemas.SandboxID) { s.Destroy(s.t.Context(), owner, id) }
	renew := func(s *server, id schemas.SandboxID) { s.renew(id, 50) }
	cases := map[string]struct {
		act  func(*server, schemas.SandboxID)
		op   backendtest.Op
		left int // sandboxes afterwards; there was one before
	}{
		"create, image":    {create, backendtest.OpPrepareImage, 1},
		"create, create":   {create, backendtest.OpCreate, 1},
		"create, deadline": {create, backendtest.OpSetDeadline, 1},
		"destroy, remove":  {destroy, backendtest.OpRemove, 0},
		"renew, deadline":  {renew, backendtest.OpSetDeadline, 1},
	}
	for name, c := range cases {
		for _, moment := range []string{"before", "after"} {
			t.Run(name+", "+moment, func(t *testing.T) {
				t.Parallel()
				s := start(t)
				id := s.create().ID
				s.mustSh(id, "echo kept > f")
				calls := s.fake.Calls(c.op)
				never := make(chan struct{})
				fault := backendtest.Fault{Times: 1, Wait: never}
				if moment == "after" {
					fault = backendtest.Fault{Times: 1, Hold: never}
				}
				s.fake.Inject(c.op, fault)
				done := make(chan struct{})
				go func() { defer close(done); c.act(s, id) }()
				eventually(t, "the step", func() bool { return s.fake.Calls(c.op) > calls })

				next := killed(t, s)
				eventually(t, "reconciled", func() bool { return len(next.fake.Containers()) == c.left && len(next.fake.Volumes()) == c.left })
				l, err := next.List(t.Context(), owner, schemas.Page{})
				if err != nil || len(l.Sandboxes) != c.left {
					t.Errorf("list is %+v, %v", l, err)
				}
				if c.left == 1 {
					if got := next.mustSh(id, "cat f"); got != "kept\n" {
						t.Errorf("file holds %q", got)
					}
				}
				s.Close()
				<-done
			})
		}
	}
}

// killed is the server that starts after s was killed right now: s goes on, but
// what it writes from here on is not in the new one's directory.
func killed(t *testing.T, s *server) *server {
	t.Helper()
	after := &server{t: t, fake: s.fake, cfg: s.cfg}
	after.cfg.DataDir = t.TempDir()
	if err := os.CopyFS(after.cfg.DataDir, os.DirFS(s.cfg.DataDir)); err != nil {
		t.Fatal(err)
	}
	return restart(t, after)
}
