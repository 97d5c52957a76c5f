package backendtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	patience = 2 * time.Minute  // for one subtest, on a busy machine
	prompt   = 10 * time.Second // for what the contract calls prompt, likewise
)

// env is what one subtest works with.
type env struct {
	*testing.T
	topic *testing.T // outlives the subtests
	o     Options
	b     manager.Backend
	ctx   context.Context
	image manager.Image
	// shared is a sandbox of the whole topic, made when first asked for.
	shared *box
}

// box is one sandbox.
type box struct {
	manager.Guest
	ref  manager.Ref
	spec manager.Spec
}

func newEnv(t *testing.T, o Options) *env {
	b := o.New(t)
	t.Cleanup(func() { b.Close() })
	e := &env{T: t, topic: t, o: o, b: b, ctx: t.Context()}
	image, err := b.PrepareImage(t.Context(), o.Image)
	if err != nil {
		t.Fatalf("prepare image %s: %v", o.Image, err)
	}
	e.image = image
	e.shared = &box{}
	return e
}

// within is e for a subtest.
func (e *env) within(t *testing.T) *env {
	sub := *e
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	sub.T, sub.ctx = t, ctx
	return &sub
}

func (e *env) spec() manager.Spec {
	return manager.Spec{Image: e.o.Image, CPUs: 1, MemoryMB: 128, PidsLimit: 64, ReadOnlyRootfs: true}
}

// newRef names an incarnation and removes it after t, whatever became of it.
func (e *env) newRef(t *testing.T) manager.Ref {
	id, key := make([]byte, 8), make([]byte, 32)
	rand.Read(id)
	rand.Read(key)
	name := "backendtest-" + hex.EncodeToString(id)
	ref := manager.Ref{Container: name, Volume: name, Key: hex.EncodeToString(key)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.b.Remove(ctx, ref); err != nil {
			t.Errorf("remove %s: %v", ref.Container, err)
		}
	})
	return ref
}

// create makes a sandbox for this subtest.
func (e *env) create() *box {
	e.Helper()
	return e.createAt(e.newRef(e.T))
}

func (e *env) createAt(ref manager.Ref) *box {
	e.Helper()
	g, err := e.b.Create(e.ctx, ref, e.spec(), e.image)
	if err != nil {
		e.Fatalf("create: %v", err)
	}
	return &box{Guest: g, ref: ref, spec: e.spec()}
}

// box is the topic's shared sandbox, with nothing in its workspace.
func (e *env) box() *box {
	e.Helper()
	if e.shared.Guest == nil {
		*e.shared = *e.createAt(e.newRef(e.topic))
	}
	_, err := e.shared.Unpack(e.ctx, unpackAll(true), bytes.NewReader(emptyTar()))
	if err != nil {
		e.Fatalf("empty the workspace: %v", err)
	}
	return e.shared
}

func (e *env) open(b *box) *box {
	e.Helper()
	g, err := e.b.Open(e.ctx, b.ref, b.spec, e.image)
	if err != nil {
		e.Fatalf("open: %v", err)
	}
	return &box{Guest: g, ref: b.ref, spec: b.spec}
}

func (e *env) inspect(ref manager.Ref) manager.State {
	e.Helper()
	s, err := e.b.Inspect(e.ctx, ref)
	if err != nil {
		e.Fatalf("inspect: %v", err)
	}
	return s
}

// output is what one command did.
type output struct {
	stdout, stderr string
	manager.Exit
}

func (e *env) command(argv ...string) manager.Command {
	return manager.Command{Argv: argv, Dir: workspace, Env: e.image.Env, MaxStdout: -1, MaxStderr: -1}
}

func (e *env) script(script string) manager.Command { return e.command("/bin/sh", "-c", script) }

// run runs a command and returns how Exec ended.
func (e *env) run(b *box, c manager.Command) (out output, err error) {
	var stdout, stderr bytes.Buffer
	out.Exit, err = b.Exec(e.ctx, c, func(s schemas.Stream, chunk []byte) error {
		if s == schemas.Stdout {
			stdout.Write(chunk)
		} else {
			stderr.Write(chunk)
		}
		return nil
	})
	out.stdout, out.stderr = stdout.String(), stderr.String()
	return out, err
}

// must runs a command that Exec has to see to its end.
func (e *env) must(b *box, c manager.Command) output {
	e.Helper()
	out, err := e.run(b, c)
	if err != nil {
		e.Fatalf("exec %q: %v", c.Argv, err)
	}
	return out
}

// sh runs a script that has to exit 0 and returns its standard output.
func (e *env) sh(b *box, script string) string {
	e.Helper()
	out := e.must(b, e.script(script))
	if out.Code != 0 {
		e.Fatalf("script %q: exit %d, stderr %q", script, out.Code, out.stderr)
	}
	return out.stdout
}

func (e *env) write(b *box, path, content string) {
	e.Helper()
	_, err := b.Write(e.ctx, path, manager.WriteOptions{MaxBytes: 1 << 20}, strings.NewReader(content))
	if err != nil {
		e.Fatalf("write %s: %v", path, err)
	}
}

func (e *env) read(b *box, path string) string {
	e.Helper()
	_, content, err := b.Read(e.ctx, path, 0, -1)
	if err != nil {
		e.Fatalf("read %s: %v", path, err)
	}
	defer content.Close()
	data, err := io.ReadAll(content)
	if err != nil {
		e.Fatalf("read %s: %v", path, err)
	}
	return string(data)
}
