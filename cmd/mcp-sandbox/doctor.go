package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// doctorTime bounds the whole examination, also of a daemon that hangs.
const doctorTime = 30 * time.Second

type doctorCmd struct {
	settings
}

// Run prints one line for each thing that a server needs.
func (c *doctorCmd) Run(e *env) error {
	if err := c.complete(e); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), doctorTime)
	defer cancel()
	d := &doctor{settings: &c.settings, out: e.stdout}
	d.checkDocker(ctx)
	d.checkDataDir()
	if d.docker && d.dataDir {
		d.checkOthers(ctx)
	}
	if d.problems {
		return failure{exitProblem, errors.New("")}
	}
	return nil
}

// doctor looks at one thing after the other.
type doctor struct {
	*settings
	out      io.Writer
	problems bool

	docker, dataDir bool // are as they should be
}

func (d *doctor) ok(what, format string, args ...any) {
	fmt.Fprintf(d.out, "ok       %-15s %s\n", what, fmt.Sprintf(format, args...))
}

// note is for what may be as it should be, and may not.
func (d *doctor) note(what, text string) { fmt.Fprintf(d.out, "note     %-15s %s\n", what, text) }

// problem says what is wrong and, after the arrow, how to mend it.
func (d *doctor) problem(what, wrong, mend string) {
	d.problems = true
	fmt.Fprintf(d.out, "PROBLEM  %-15s %s -> %s\n", what, wrong, mend)
}

// mendDocker is for a client that cannot even be set up.
const mendDocker = "correct DOCKER_HOST and the other DOCKER_ variables"

func (d *doctor) checkDocker(ctx context.Context) {
	backend, err := dockerbackend.New(d.backendConfig("doctor", slog.New(slog.DiscardHandler)))
	if err != nil {
		d.problem("docker", err.Error(), mendDocker)
		return
	}
	defer backend.Close()
	info, err := backend.Probe(ctx)
	if err != nil {
		d.problem("docker", message(err), cmp.Or(hint(err), "start Docker, or set DOCKER_HOST to where it listens"))
		return
	}
	d.docker = true
	d.ok("docker", "%s, API %s", info.Version, info.API)
	d.ok("runtime", "%s", info.Runtime)
	d.checkImage(ctx, backend)
}

func (d *doctor) checkImage(ctx context.Context, backend manager.Backend) {
	image, err := d.pickImage(ctx, backend)
	switch {
	case err == nil:
		d.ok("default image", "%s", image)
	case errors.Is(err, errNoImage):
		d.problem("default image", image+" is not on this machine; the first sandbox will have to pull it", "docker pull "+image)
	default:
		d.problem("default image", message(err), "see what docker image inspect "+image+" says")
	}
}

var errNoImage = errors.New("no such image")

// pickImage is the image that a sandbox gets which names none, as the manager
// chooses it.
func (d *doctor) pickImage(ctx context.Context, backend manager.Backend) (string, error) {
	candidates := []string{manager.BaseImage, manager.FallbackImage}
	if d.DefaultImage != "" {
		candidates = []string{d.DefaultImage}
	}
	for _, image := range candidates {
		if there, err := backend.HasImage(ctx, image); err != nil || there {
			return image, err
		}
	}
	return candidates[len(candidates)-1], errNoImage
}

// message is what a user may read of an error, without its innards.
func message(err error) string {
	if e := (*manager.Error)(nil); errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

func hint(err error) string {
	if e := (*manager.Error)(nil); errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
