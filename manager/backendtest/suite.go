package backendtest

import (
	"context"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Options say what Run measures, and how it reaches around the backend.
type Options struct {
	// New returns a client of the backend. The suite calls it more than once:
	// all clients must see the same containers, as two servers after each
	// other do. It closes what it gets.
	New func(t *testing.T) manager.Backend

	// Image is a reference that PrepareImage accepts, of an image with busybox.
	Image string

	// StopContainer and RemoveContainer act from outside, as "docker kill" and
	// "docker rm -f" do. RemoveVolume removes a volume and, if need be, the
	// container that uses it. A nil one skips the subtests that need it.
	StopContainer   func(ctx context.Context, name string) error
	RemoveContainer func(ctx context.Context, name string) error
	RemoveVolume    func(ctx context.Context, name string) error
}

// Run checks every promise of manager.Backend and manager.Guest, each as a
// named subtest. Subtests of one topic run one after the other and share a
// sandbox where they leave it as it was; topics run in parallel.
func Run(t *testing.T, o Options) {
	for _, topic := range []struct {
		name  string
		tests []check
	}{
		{"Images", imageChecks},
		{"Lifecycle", lifecycleChecks},
		{"Loss", lossChecks},
		{"Adopt", adoptChecks},
		{"Exec", execChecks},
		{"Kill", killChecks},
		{"Output", outputChecks},
		{"Background", backgroundChecks},
		{"HandOver", handOverChecks},
		{"Files", fileChecks},
		{"Confinement", confinementChecks},
		{"Archive", archiveChecks},
		{"Deadline", deadlineChecks},
	} {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, o)
			for _, c := range topic.tests {
				t.Run(c.name, func(t *testing.T) { c.run(e.within(t)) })
			}
		})
	}
}

// check is one promise.
type check struct {
	name string
	run  func(e *env)
}
