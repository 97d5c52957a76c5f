package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// create measures until a sandbox is there, and until its first command has run.
func (r *rig) create() error {
	var name string
	var box schemas.Sandbox
	twinned := func(s string, do func() error) side {
		return side{name: s, do: do, after: func() error { return r.twin.remove(r.ctx, name) }}
	}
	ours := func(s string, c *client.Client, spares int, first bool) side {
		return side{
			name:   s,
			before: func() error { return r.awaitPool(c, spares) },
			do: func() error {
				if err := c.Call(r.ctx, "sandbox_create", args{}, &box); err != nil || !first {
					return err
				}
				return r.run(c, box.ID, "/bin/true")
			},
			// A pool that is filled again would weigh on the next side.
			after: func() error { return errors.Join(r.remove(c, box.ID), r.awaitPool(c, spares)) },
		}
	}
	byAPI := func() (err error) { name, err = r.twin.create(r.ctx); return err }
	err := r.compare("create a sandbox", 12, 1,
		twinned(api, byAPI),
		twinned(cli, func() (err error) { name, err = r.twin.run(r.ctx); return err }),
		ours(v1Cold, r.cold, 0, false), ours(v1Pool, r.rest, 2, false))
	if err != nil {
		return err
	}
	err = r.compare("create and first exec", 12, 1,
		twinned(api, func() error {
			if err := byAPI(); err != nil {
				return err
			}
			return r.docker.exec(r.ctx, name, io.Discard, "/bin/true")
		}),
		ours(v1Cold, r.cold, 0, true), ours(v1Pool, r.rest, 2, true),
		twinned(apiBare, byAPI)) // what the aim is held against, in the same turns
	if err != nil {
		return err
	}
	return r.burst()
}

// burst creates twenty at once: two come out of the pool, the others are made.
func (r *rig) burst() error {
	const n = 20
	var mu sync.Mutex
	var boxes []schemas.SandboxID
	var names []string
	return r.compare("create 20 sandboxes at once", 3, n,
		side{name: api, do: func() error {
			name, err := r.twin.create(r.ctx)
			mu.Lock()
			defer mu.Unlock()
			names = append(names, name)
			return err
		}, after: func() error {
			defer func() { names = nil }()
			return each(names, func(name string) error { return r.twin.remove(r.ctx, name) })
		}},
		side{name: v1Pool, before: func() error { return r.awaitPool(r.rest, 2) }, do: func() error {
			var box schemas.Sandbox
			err := r.rest.Call(r.ctx, "sandbox_create", args{}, &box)
			mu.Lock()
			defer mu.Unlock()
			boxes = append(boxes, box.ID)
			return err
		}, after: func() error {
			defer func() { boxes = nil }()
			err := each(boxes, func(id schemas.SandboxID) error { return r.destroyBox(r.rest, id) })
			return errors.Join(err, r.awaitGone(r.rest))
		}})
}

func each[T any](all []T, do func(T) error) error {
	for _, x := range all {
		if err := do(x); err != nil {
			return err
		}
	}
	return nil
}

// destroy measures until the answer, and until a sandbox is gone.
func (r *rig) destroy() error {
	var name string
	var box schemas.Sandbox
	twin := side{name: api,
		before: func() (err error) { name, err = r.twin.create(r.ctx); return err },
		do:     func() error { return r.twin.remove(r.ctx, name) }}
	ours := side{name: v1,
		before: func() (err error) { box, err = r.box(r.cold); return err },
		do:     func() error { return r.destroyBox(r.cold, box.ID) },
		after:  func() error { return r.awaitGone(r.cold) }}
	if err := r.compare("destroy a sandbox", 12, 1, twin, ours); err != nil {
		return err
	}
	ours.do = func() error { return r.remove(r.cold, box.ID) }
	return r.compare("destroy a sandbox, until it is gone", 6, 1, twin, ours)
}

// idle measures what sandboxes cost that do nothing.
func (r *rig) idle() error { return withMore(r.idleAt) }

// withMore measures something with more and more sandboxes.
func withMore(at func(n int) error) error {
	for _, n := range []int{1, 20, 100} {
		if n > *boxes {
			break
		}
		if err := at(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) idleAt(n int) error {
	var list schemas.SandboxList
	if err := r.cold.Call(r.ctx, "sandbox_list", args{"limit": 1000}, &list); err != nil {
		return err
	}
	for range n - len(list.Sandboxes) {
		box, err := r.box(r.cold)
		if err != nil {
			return err
		}
		list.Sandboxes = append(list.Sandboxes, box)
	}
	guest, err := r.docker.find(r.ctx, string(list.Sandboxes[0].ID))
	if err != nil {
		return err
	}
	const rest = 10 * time.Second
	time.Sleep(2 * time.Second)
	before, guestBefore := cpuTime(r.cold.Pid()), status(guest.State.Pid)
	time.Sleep(rest)
	after, guestAfter := cpuTime(r.cold.Pid()), status(guest.State.Pid)
	own := status(r.cold.Pid())
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.cold.Pid()))
	at := fmt.Sprintf(" at %d", n)
	r.once("server, resident"+at, v1, "MB", float64(own["VmRSS"])/1024)
	r.once("server, processor"+at, v1, "ms/s", (after-before)*1000/rest.Seconds())
	r.once("server, descriptors"+at, v1, "", float64(len(fds)))
	if n == 1 {
		r.once("guest, anonymous memory", v1, "MB", float64(guestAfter["RssAnon"])/1024)
		r.once("guest, wake-ups", v1, "/s", float64(guestAfter["voluntary_ctxt_switches"]-guestBefore["voluntary_ctxt_switches"])/rest.Seconds())
	}
	return nil
}

// status is the numbers in a process's status, sizes in KiB. Context switches
// are added up over its threads.
func status(pid int) map[string]int {
	numbers := map[string]int{}
	read := func(path string, only string) {
		text, _ := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			name, rest, _ := strings.Cut(line, ":")
			fields := strings.Fields(rest)
			if len(fields) == 0 || only != "" && name != only {
				continue
			}
			if n, err := strconv.Atoi(fields[0]); err == nil {
				numbers[name] += n
			}
		}
	}
	read(fmt.Sprintf("/proc/%d/status", pid), "")
	const switches = "voluntary_ctxt_switches"
	numbers[switches] = 0
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range threads {
		read(fmt.Sprintf("/proc/%d/task/%s/status", pid, t.Name()), switches)
	}
	return numbers
}

// cpuTime is what a process has used of the processor, in seconds.
func cpuTime(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / 100 // USER_HZ
}
