package e2e

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/e2e/vitals"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// hostileWays are those of e2e/hostile, with the calls that meet them: any, when none
// gets far.
var hostileWays = map[string]map[string]args{
	"gone": nil,                                                             // a container that has ended is made anew, from the right image
	"junk": execOnly, "noise on standard error": execOnly, "mute": execOnly, // no answer to the greeting
	"no hello": execOnly, "junk after the greeting": execOnly, "endless headers": execOnly, "endless early answers": execOnly, // none to the first call
	"endless pings": execOnly, "endless settings": execOnly, "empty frames": execOnly, "data past the window": execOnly,
	"no answers":     execOnly, // others last as long as the caller wants
	"no input taken": {"write_file": callsOfAllKinds["write_file"]},
	"blank answers":  callsOfAllKinds, "endless output": callsOfAllKinds, "huge headers": callsOfAllKinds,
}

var (
	execOnly        = map[string]args{"exec": {"command": "true", "timeout_seconds": 1}}
	callsOfAllKinds = map[string]args{
		"exec":       execOnly["exec"],
		"write_file": {"path": "f", "content": strings.Repeat("x", 4<<20)},
		"list_files": {},
		"snapshot":   {},
	}
)

// TestHostileGuest: in the real container, in place of the guest, runs a program that
// speaks the protocol wrongly and without end. Each call ends in time with an error
// that says whose fault it is; the server stays small, serves the other sandboxes,
// and removes that one.
func TestHostileGuest(t *testing.T) {
	t.Parallel()
	var s *server
	t.Cleanup(func() { // when the server is gone
		if s != nil {
			s.forgetImage()
		}
	})
	s = startAt(t, client.REST)
	image := s.hostileImage()
	honest := s.create()
	before, err := vitals.Read(ctx(t), s.Client)
	check(t, err)
	flat(s, func() {
		var all errgroup.Group // not t.Parallel: they wait more than they work
		all.SetLimit(9)        // but floods are work for Docker
		for way, calls := range hostileWays {
			all.Go(func() error {
				t.Run("M4 "+way, func(t *testing.T) {
					s.in(t).create().becomes(image, way).bears(calls)
					honest.in(t).alive()
				})
				return nil
			})
		}
		t.Run("M4 junk from the first moment", func(t *testing.T) {
			took(t, time.Minute, "create", func() {
				s.in(t).refuse("sandbox_create", args{"image": s.ownImage()}, schemas.CodeBackendError, schemas.CodeBackendUnavailable)
			})
		})
		all.Wait()
	})
	const kept = 12 // connections that the client keeps: fewer than there are ways
	eventually(t, settleTime, "the server has let go of all of it", func() (bool, any) {
		now, err := vitals.Read(ctx(t), s.Client)
		return err == nil && now.Goroutines <= before.Goroutines+kept && now.Descriptors <= before.Descriptors+kept, fmt.Sprint(before, now, err)
	})
}

// hostileImage is an image of this server's own whose prepared image has the hostile
// program in place of the guest: what is made from it from now on starts with that.
func (s *server) hostileImage() string {
	s.t.Helper()
	program, err := buildHostile()
	check(s.t, err)
	container := mustDocker(s.t, "create", busybox, "true")
	mustDocker(s.t, "commit", "--change", "LABEL for="+s.instance, container, s.ownImage())
	mustDocker(s.t, "rm", container)
	check(s.t, s.destroy(s.create(args{"image": s.ownImage()}).ID))
	base := mustDocker(s.t, "inspect", "-f", "{{.Id}}", s.ownImage())
	prepared := mustDocker(s.t, "images", "--format", "{{.Repository}}:{{.Tag}}", "--filter", "label=io.agent-sandbox.prepared-from="+base)
	container = mustDocker(s.t, "create", prepared)
	mustDocker(s.t, "cp", program, container+":/.mcp-sandbox/guest")
	mustDocker(s.t, "commit", container, prepared)
	mustDocker(s.t, "rm", container)
	return prepared
}

var buildHostile = sync.OnceValues(func() (string, error) {
	return buildProgram("hostile", "./hostile", "-trimpath", "-ldflags=-s -w")
})

// becomes puts another container in the place of the sandbox's.
func (b *sandbox) becomes(image, way string) *sandbox {
	b.t.Helper()
	old := b.containerOf(string(b.ID))
	volume, labels := b.volumeOf(string(b.ID)), b.inspect(string(b.ID)).Config.Labels
	name := strings.TrimPrefix(mustDocker(b.t, "inspect", "-f", "{{.Name}}", old), "/")
	mustDocker(b.t, "rm", "-f", old)
	create := []string{
		"run", "-d", "-i", "--name", name, "--env", "HOSTILE=" + way, "--user=1000:1000", "--network=none", "--cpus=0.1",
		"--log-driver=none", "--mount=type=volume,src=" + volume + ",dst=/workspace", "--entrypoint=/.mcp-sandbox/guest",
	}
	for label, value := range maps.All(labels) {
		create = append(create, "--label", label+"="+value)
	}
	mustDocker(b.t, append(create, image)...)
	if way == "gone" {
		mustDocker(b.t, "wait", name)
	}
	return b
}

// bears calls that must fail, soon and with the blame where it belongs, and then goes.
// Without calls it must be as before.
func (b *sandbox) bears(calls map[string]args) {
	b.t.Helper()
	for tool, a := range calls {
		took(b.t, 90*time.Second, tool, func() {
			b.refuse(tool, a.with(args{"sandbox_id": b.ID}), schemas.CodeBackendError, schemas.CodeBackendUnavailable)
		})
	}
	if len(calls) == 0 {
		b.alive()
	}
	took(b.t, 30*time.Second, "destroy", func() { check(b.t, b.destroy(b.ID)) })
}
