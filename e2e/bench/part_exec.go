package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
)

// exec measures a command that does nothing.
func (r *rig) exec() error {
	rest, model, err := r.boxAndModel(r.rest)
	if err != nil {
		return err
	}
	stdio, err := r.box(r.stdio)
	if err != nil {
		return err
	}
	shell, err := r.twin.attach(r.ctx)
	if err != nil {
		return err
	}
	defer shell.close()
	bare, server, err := shell.behindHTTP()
	if err != nil {
		return err
	}
	defer server.Close()
	for _, c := range []struct{ atOnce, rounds int }{{1, 200}, {8, 25}, {32, 8}} {
		sides := []side{
			{name: api, do: func() error { return r.docker.exec(r.ctx, model.ID, io.Discard, "/bin/true") }},
			{name: v1, do: func() error { return r.run(r.rest, rest.ID, "/bin/true") }},
			{name: v1 + ", in a shell", do: func() error { return r.exitOK(r.rest, args{"sandbox_id": rest.ID, "command": "true"}) }},
			{name: mcp, do: func() error { return r.run(r.stdio, stdio.ID, "/bin/true") }},
		}
		if c.atOnce == 1 {
			sides = append(sides,
				side{name: cli, do: func() error { return r.twin.exec(r.ctx, model.ID, "/bin/true") }},
				side{name: floor, do: func() error { return shell.run("/bin/true", nil, 0) }},
				side{name: floorHTTP, do: func() error { return r.run(bare, "any", "/bin/true") }})
		}
		if err := r.compare("exec true", c.rounds, c.atOnce, sides...); err != nil {
			return err
		}
	}
	return r.compare("exec true, ten in a row", 20, 1,
		side{name: api, do: inRow(10, func() error { return r.docker.exec(r.ctx, model.ID, io.Discard, "/bin/true") })},
		side{name: v1, do: inRow(10, func() error { return r.run(r.rest, rest.ID, "/bin/true") })},
		side{name: mcp, do: inRow(10, func() error { return r.run(r.stdio, stdio.ID, "/bin/true") })})
}

// inRow does something several times without a pause, as a script does; an agent
// thinks in between.
func inRow(times int, do func() error) func() error {
	return func() error {
		for range times {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
}

// stream measures how long output is under way: the command writes the time.
func (r *rig) stream() error {
	box, model, err := r.boxAndModel(r.rest)
	if err != nil {
		return err
	}
	const line = "sleep 0.05; date +%s%N; sleep 0.2"
	var ours, dockers []float64
	for range max(3, int(30**scale)) {
		err := r.streamed(r.rest, box.ID, line, func(e client.Event) {
			if e.Type == "stdout" {
				ours = append(ours, since(e.Data))
			}
		})
		if err != nil {
			return err
		}
		err = r.docker.exec(r.ctx, model.ID, writer(func(p []byte) {
			if len(p) > 8 { // after the frame's header
				dockers = append(dockers, since(string(p[8:])))
			}
		}), "/bin/sh", "-c", line)
		if err != nil {
			return err
		}
	}
	for name, times := range map[string][]float64{api: dockers, v1: ours} {
		r.report.add(figure{Part: r.part, What: "from written to received", Side: name, AtOnce: 1, Runs: len(times), Unit: "ms",
			P50: percentile(times, 50), P99: percentile(times, 99), Ratio: percentile(times, 50) / percentile(dockers, 50)})
	}
	return nil
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// since is how long ago a time in nanoseconds was, in milliseconds.
func since(stamp string) float64 {
	ns, _ := strconv.ParseInt(strings.TrimSpace(stamp), 10, 64)
	return float64(time.Now().UnixNano()-ns) / 1e6
}

// output measures text in bulk.
func (r *rig) output() error {
	box, model, err := r.boxAndModel(r.rest)
	if err != nil {
		return err
	}
	shell, err := r.twin.attach(r.ctx)
	if err != nil {
		return err
	}
	defer shell.close()
	const hundred = 100_000_000
	// Text that compresses as well as any, as most does, and hardly at all.
	lines := func(size int) string {
		return fmt.Sprintf("yes 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde | head -c %d", size)
	}
	source := fmt.Sprintf("find /usr/lib/python3* -name '*.py' | sort | xargs cat > s; while cat s; do :; done 2> e | head -c %d > source; rm s e", hundred)
	random := fmt.Sprintf("base64 /dev/urandom 2> e | head -c %d > random; rm e", hundred)
	if err := r.sh(r.rest, box.ID, source+"; "+random); err != nil {
		return err
	}
	for _, c := range []struct {
		what, line string
		size       int
	}{
		{"1 MB of output", lines(1_000_000), 1_000_000},
		{"100 MB of output", lines(hundred), hundred},
		{"100 MB of source text", "cat source", hundred},
		{"100 MB of random text", "cat random", hundred},
	} {
		sides := []side{
			{name: api, do: func() error {
				var n counter
				if err := r.docker.exec(r.ctx, model.ID, &n, "/bin/sh", "-c", "cd /workspace; "+c.line); err != nil {
					return err
				}
				if int(n) < c.size {
					return fmt.Errorf("got %d bytes of %d", n, c.size)
				}
				return nil
			}},
			{name: v1, do: func() error { return r.drain(r.rest, box.ID, "exec/stream", c.line, c.size) }},
		}
		if strings.HasSuffix(c.what, "of output") {
			sides = append(sides,
				side{name: v1 + ", buffered", do: func() error { return r.drain(r.rest, box.ID, "exec", c.line, c.size) }},
				side{name: floor, do: func() error { return shell.run(c.line, nil, c.size) }})
		}
		if err := r.compare(c.what, 5, 1, sides...); err != nil {
			return err
		}
	}
	return nil
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// files measures one file in and out.
func (r *rig) files() error {
	box, model, err := r.boxAndModel(r.rest)
	if err != nil {
		return err
	}
	shell, err := r.twin.attach(r.ctx)
	if err != nil {
		return err
	}
	defer shell.close()
	for _, f := range []struct {
		name   string
		size   int
		rounds int
	}{{"1 KB", 1000, 100}, {"10 MB", 10_000_000, 10}, {"100 MB", 100_000_000, 3}} {
		content := noise(f.size)
		path := "/v1/sandboxes/" + string(box.ID) + "/files?path=f"
		tar := tarOf("d", content)
		err := r.compare("put "+f.name, f.rounds, 1,
			side{name: api, do: func() error { return r.docker.extract(r.ctx, model.ID, "/workspace", bytes.NewReader(tar)) }},
			side{name: v1, do: func() error { return r.http(r.rest, "PUT", path, bytes.NewReader(content), io.Discard) }},
			side{name: floor, do: func() error { return shell.run(fmt.Sprintf("head -c %d > f", f.size), content, 0) }})
		if err != nil {
			return err
		}
		err = r.compare("get "+f.name, f.rounds, 1,
			side{name: api, do: func() error { _, err := r.docker.archive(r.ctx, model.ID, "/workspace/d", io.Discard); return err }},
			side{name: v1, do: func() error { return r.http(r.rest, "GET", path, nil, io.Discard) }},
			side{name: floor, do: func() error { return shell.run("cat f", nil, f.size) }})
		if err != nil {
			return err
		}
	}
	return nil
}
