package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type args = map[string]any

// bench measures one thing after the other, on the sandbox that lifecycle leaves.
type bench struct {
	ctx       context.Context
	client    *client.Client
	docker    *docker
	box       schemas.Sandbox
	container string
	pid       int
	table     table
}

// lifecycle measures how long it takes until a sandbox has run its first command.
func (b *bench) lifecycle() error {
	var creates, firsts, destroys []time.Duration
	for i := range *boxes {
		var box schemas.Sandbox
		steps := []func() error{
			func() error { return b.client.Call(b.ctx, "sandbox_create", args{}, &box) },
			func() error { return b.exec(box.ID, "true") },
			func() error { return b.client.Call(b.ctx, "sandbox_destroy", args{"sandbox_id": box.ID}, nil) },
		}
		for j, times := range []*[]time.Duration{&creates, &firsts, &destroys} {
			if i == *boxes-1 && j == 2 {
				b.box = box // stays for the other parts
				break
			}
			if err := timed(times, steps[j]); err != nil {
				return err
			}
		}
	}
	b.table.row("create a sandbox", creates, nil)
	b.table.row("its first command", firsts, nil)
	b.table.row("destroy it", destroys, nil)
	return nil
}

// commands measures a command that does nothing, ours and Docker's in turn.
func (b *bench) commands() error {
	var err error
	if b.container, b.pid, err = b.docker.container(b.ctx, string(b.box.ID)); err != nil {
		return err
	}
	var ours, shell, dockers []time.Duration
	for range *execs {
		err := errors.Join(
			timed(&ours, func() error { return b.exec(b.box.ID, "/bin/true") }),
			timed(&shell, func() error {
				return b.client.Call(b.ctx, "exec", args{"sandbox_id": b.box.ID, "command": "true"}, nil)
			}),
			timed(&dockers, func() error { return b.docker.exec(b.ctx, b.container, "/bin/true") }),
		)
		if err != nil {
			return err
		}
	}
	b.table.row("exec true, by docker exec", dockers, nil)
	b.table.row("exec true", ours, dockers)
	b.table.row("exec true in a shell", shell, dockers)
	return nil
}

// memory reads what the sandbox's init holds for itself.
func (b *bench) memory() error {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.pid))
	if err != nil {
		b.table.note("init's own memory", "cannot be read here")
		return nil
	}
	_, rest, _ := bytes.Cut(raw, []byte("RssAnon:"))
	var kb int
	fmt.Sscan(string(rest), &kb)
	b.table.note("init's own memory", fmt.Sprintf("%.1f MiB", float64(kb)/1024))
	return nil
}

// trees measures saving a tree of many files, ours and Docker's in turn.
func (b *bench) trees() error {
	make := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do d=dir-$((i/100)); mkdir -p $d; seq $i $((i+1000)) > $d/file-$i; i=$((i+1)); done`, *files)
	if err := b.client.Call(b.ctx, "exec", args{"sandbox_id": b.box.ID, "command": make, "timeout_seconds": 600}, nil); err != nil {
		return err
	}
	var snapshots, rollbacks, dockers []time.Duration
	var snap schemas.Snapshot
	var size int64
	for range *saves {
		err := errors.Join(
			timed(&dockers, func() (err error) { size, err = b.docker.archive(b.ctx, b.container, "/workspace"); return err }),
			timed(&snapshots, func() error { return b.client.Call(b.ctx, "snapshot", args{"sandbox_id": b.box.ID}, &snap) }),
			timed(&rollbacks, func() error {
				return b.client.Call(b.ctx, "rollback", args{"sandbox_id": b.box.ID, "snapshot_id": snap.ID}, nil)
			}),
		)
		if err != nil {
			return err
		}
		if b.container, b.pid, err = b.docker.container(b.ctx, string(b.box.ID)); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("%d files", snap.Files)
	b.table.row(what+": docker archive", dockers, nil)
	b.table.row(what+": snapshot", snapshots, dockers)
	b.table.row(what+": rollback", rollbacks, dockers)
	b.table.note(what+": stored", fmt.Sprintf("%.1f MiB of %.1f MiB (docker: %.1f MiB)", mib(snap.StoredBytes), mib(snap.SizeBytes), mib(size)))
	return nil
}

func (b *bench) exec(id schemas.SandboxID, argv ...string) error {
	return b.client.Call(b.ctx, "exec", args{"sandbox_id": id, "argv": argv}, nil)
}

func (b *bench) cleanUp() {
	var list schemas.SandboxList
	b.client.Call(b.ctx, "sandbox_list", args{}, &list)
	for _, box := range list.Sandboxes {
		b.client.Call(b.ctx, "sandbox_destroy", args{"sandbox_id": box.ID}, nil)
	}
}

func timed(times *[]time.Duration, f func() error) error {
	began := time.Now()
	err := f()
	*times = append(*times, time.Since(began))
	return err
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
