package dockerbackend

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
)

// BenchmarkFirstExec is what a new sandbox costs, up to its first result.
func BenchmarkFirstExec(b *testing.B) {
	r := newRig(b)
	r.image(busybox)
	for b.Loop() {
		box := r.create(spec(busybox))
		box.run("/bin/true")
		b.StopTimer()
		r.mustRemove(box.ref)
		b.StartTimer()
	}
}

// BenchmarkExec compares the guest with Docker's own exec, in turn.
func BenchmarkExec(b *testing.B) {
	r := newRig(b)
	box := r.create(spec(busybox))
	var ours, theirs []time.Duration
	for b.Loop() {
		ours = append(ours, timed(func() { box.run("/bin/true") }))
		theirs = append(theirs, timed(func() { r.dockerExec(box.ref.Container, "/bin/true") }))
	}
	b.ReportMetric(float64(median(ours).Microseconds())/1000, "guest-ms/exec")
	b.ReportMetric(float64(median(theirs).Microseconds())/1000, "docker-ms/exec")
}

func (r *rig) dockerExec(name string, argv ...string) {
	e, err := r.docker.ContainerExecCreate(r.ctx, name, container.ExecOptions{Cmd: argv, AttachStdout: true, AttachStderr: true})
	if err != nil {
		r.Fatal(err)
	}
	a, err := r.docker.ContainerExecAttach(r.ctx, e.ID, container.ExecAttachOptions{})
	if err != nil {
		r.Fatal(err)
	}
	io.Copy(io.Discard, a.Reader)
	a.Close()
	if _, err := r.docker.ContainerExecInspect(r.ctx, e.ID); err != nil {
		r.Fatal(err)
	}
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
