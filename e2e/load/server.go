package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/e2e/vitals"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type args = map[string]any

// load is a server, its sandboxes, and what was seen of both.
type load struct {
	ctx    context.Context
	client *client.Client
	boxes  []schemas.SandboxID

	empty, idle vitals.Vitals // without sandboxes; with all of them, each used once
	faults      faults
	times       table
	memory      table
	answers     table
}

func (l *load) start(dir string) (err error) {
	key := rand.Text()
	l.client, err = client.Start(l.ctx, client.Options{
		Binary: *binary, Door: client.REST, Key: key,
		Args: []string{"--data-dir=" + dir, "--default-image=" + *image, fmt.Sprint("--max-sandboxes=", *boxes), "--log-format=json"},
		Env:  []string{"AGENT_SANDBOX_API_KEYS=load:" + key},
	})
	return err
}

// begin makes the sandboxes and uses each once, so that what is kept for each is
// there before anything is compared with it.
func (l *load) begin() (err error) {
	if l.empty, err = l.usage(); err != nil {
		return err
	}
	for range *boxes {
		var box schemas.Sandbox
		if err := l.client.Call(l.ctx, "sandbox_create", args{"timeout_seconds": 3600}, &box); err != nil {
			return err
		}
		l.boxes = append(l.boxes, box.ID)
	}
	if err := l.alive(); err != nil {
		return err
	}
	l.idle, err = l.usage()
	l.memory.line("no sandbox", l.empty.Cells()...)
	l.memory.line(fmt.Sprint(*boxes, " sandboxes, idle"), l.idle.Cells()...)
	return err
}

// alive: every sandbox runs a command, and there are as many as there should be.
func (l *load) alive() error {
	for _, id := range l.boxes {
		if _, err := l.exec(id, "true"); err != nil {
			return err
		}
	}
	var list schemas.SandboxList
	if err := l.client.Call(l.ctx, "sandbox_list", args{"limit": 1000}, &list); err != nil {
		return err
	}
	if len(list.Sandboxes) != len(l.boxes) {
		return fmt.Errorf("there are %d sandboxes, not %d", len(list.Sandboxes), len(l.boxes))
	}
	return nil
}

func (l *load) exec(id schemas.SandboxID, command string) (r schemas.ExecResult, err error) {
	err = l.client.Call(l.ctx, "exec", args{"sandbox_id": id, "command": command}, &r)
	return r, err
}

// settle waits until the server is as it was, first with the sandboxes and then
// without them.
func (l *load) settle() error {
	if err := l.alive(); err != nil {
		l.faults.add("at the end: %v", err)
	}
	l.calm("all of it done", l.idle)
	l.untouched()
	for _, id := range l.boxes {
		if err := l.client.Call(l.ctx, "sandbox_destroy", args{"sandbox_id": id}, nil); err != nil {
			return err
		}
	}
	l.boxes = nil
	l.calm("no sandbox again", l.empty)
	l.scanLog()
	return nil
}

// untouched: nothing malformed has left anything behind.
func (l *load) untouched() {
	if n, err := l.metric("mcp_sandbox_execs_in_flight"); n != 0 || err != nil {
		l.faults.add("%d commands still run (%v)", n, err)
	}
	if n := l.processes("sleep"); n != 0 {
		l.faults.add("%d processes are left of commands whose callers are gone", n)
	}
	if r, err := l.exec(l.boxes[0], "ls -A /workspace"); err != nil || r.Stdout != "" {
		l.faults.add("uploads that were refused or cut off have left %q (%v)", r.Stdout, err)
	}
	if n, err := l.metric("mcp_sandbox_snapshots"); n != 0 || err != nil {
		l.faults.add("there are %d snapshots (%v)", n, err)
	}
}

// calm waits until the server holds no more than it did, but for a little: what
// the runtime keeps for itself, and the connection that asks.
func (l *load) calm(when string, base vitals.Vitals) {
	const few = 4
	began := time.Now()
	for {
		now, err := l.usage()
		ok := err == nil && now.Goroutines <= base.Goroutines+few && now.Descriptors <= base.Descriptors+few &&
			now.RSS <= l.idle.RSS+*slack<<20
		if ok {
			l.memory.line(when, append(now.Cells(), fmt.Sprintf("after %.1f s", time.Since(began).Seconds()))...)
			return
		}
		if err != nil || time.Since(began) > time.Minute {
			l.faults.add("%s: %v is not back at %v (%v)", when, now, base, err)
			l.memory.line(when, now.Cells()...)
			return
		}
	}
}

// end removes what is left, when the program did not come to its own end.
func (l *load) end() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), time.Minute)
	defer cancel()
	for _, id := range l.boxes {
		_ = l.client.Call(ctx, "sandbox_destroy", args{"sandbox_id": id}, nil)
	}
	l.client.HTTP.CloseIdleConnections()
	_ = l.client.Signal(syscall.SIGTERM)
	if _, err := l.client.ExitCode(20 * time.Second); err != nil {
		l.client.Kill()
	}
}

// scanLog looks for what should never be there.
func (l *load) scanLog() {
	for line := range strings.Lines(l.client.Log()) {
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, "panic") {
			l.faults.add("the log says %.600s", line)
		}
	}
}

func (l *load) usage() (vitals.Vitals, error) { return vitals.Read(l.ctx, l.client) }

func (l *load) metric(name string) (int, error) { return vitals.Metric(l.ctx, l.client, name) }

func (l *load) rss() (int64, error) { return vitals.RSS(l.client.Pid()) }

// watch follows the server's memory until it is told to stop, and returns the
// most that it saw.
func (l *load) watch() (stop func() int64) {
	var most int64
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			if now, err := l.rss(); err == nil {
				most = max(most, now)
			}
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	})
	return func() int64 {
		close(quit)
		done.Wait()
		return most
	}
}

// measured runs a part of the load, and writes down what the server held at its
// peak and after it.
func (l *load) measured(what string, part func()) error {
	stop := l.watch()
	part()
	l.memory.line(what+", peak", vitals.MiB(stop()))
	after, err := l.usage()
	l.memory.line(what+", after", after.Cells()...)
	return err
}
