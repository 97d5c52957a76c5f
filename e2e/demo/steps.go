package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type args = map[string]any

const (
	buildScript = `for part in lexer parser printer; do
  echo "building $part"
  sleep 0.4
  echo "object code of $part" > "$part.o"
done
cat ./*.o > program
echo "built program"
`
	words = "pear\napple\nfig\napple\n"
	// fingerprint of names and contents of the whole workspace.
	fingerprint = `find . -type f | sort | while read -r f; do echo "$f"; cat "$f"; done | md5sum`
)

func (d *demo) create() (string, error) {
	request := args{"name": "demo"}
	if d.image != "" {
		request["image"] = d.image
	}
	if err := d.client.Call(d.ctx, "sandbox_create", request, &d.box); err != nil {
		return "", err
	}
	b := d.box
	return fmt.Sprintf("%s: %s, %g CPU, %d MiB, network %t", b.ID, b.Image, b.CPUs, b.MemoryMB, b.Network),
		expect("status", b.Status, schemas.StatusRunning)
}

func (d *demo) write() (string, error) {
	for path, content := range map[string]string{"build.sh": buildScript, "data/words.txt": words} {
		if err := d.client.Call(d.ctx, "write_file", args{"sandbox_id": d.box.ID, "path": path, "content": content}, nil); err != nil {
			return "", err
		}
	}
	r, err := d.exec(d.box.ID, "cat data/words.txt")
	return "build.sh and data/words.txt", errors.Join(err, expect("content", r.Stdout, words))
}

// build shows the command's output as it arrives.
func (d *demo) build() (string, error) {
	began := time.Now()
	notices := 0
	raw, err := d.client.Raw(d.ctx, "exec", args{"sandbox_id": d.box.ID, "command": "sh build.sh"}, func(p client.Progress) {
		for line := range strings.Lines(p.Message) {
			notices++
			d.aside("%-24s after %s", strings.TrimSpace(line), seconds(time.Since(began)))
		}
	})
	if err != nil {
		return "", err
	}
	var r schemas.ExecResult
	if err := client.Decode("exec", raw, &r); err != nil {
		return "", err
	}
	if notices < 2 {
		err = fmt.Errorf("only %d lines arrived before the end", notices)
	}
	return fmt.Sprintf("exit code %d", r.ExitCode),
		errors.Join(err, expect("exit code", r.ExitCode, 0), expect("last line", lastLine(r.Stdout), "built program"))
}

func (d *demo) takeSnapshot() (string, error) {
	r, err := d.exec(d.box.ID, fingerprint)
	if err != nil {
		return "", err
	}
	d.tree = r.Stdout
	err = d.client.Call(d.ctx, "snapshot", args{"sandbox_id": d.box.ID, "name": "built"}, &d.snap)
	return fmt.Sprintf("%s: %d entries, %d bytes stored", d.snap.ID, d.snap.Files, d.snap.StoredBytes), err
}

func (d *demo) breakThings() (string, error) {
	r, err := d.exec(d.box.ID, "rm -rf data *.o; echo rubbish > program; cat data/words.txt")
	if err != nil {
		return "", err
	}
	return "as expected: " + lastLine(r.Stderr), expect("exit code", r.ExitCode, 1)
}

func (d *demo) rollBack() (string, error) {
	var b schemas.Sandbox
	if err := d.client.Call(d.ctx, "rollback", args{"sandbox_id": d.box.ID, "snapshot_id": d.snap.ID}, &b); err != nil {
		return "", err
	}
	r, err := d.exec(d.box.ID, fingerprint)
	return "same sandbox, every file as it was",
		errors.Join(err, expect("sandbox", b.ID, d.box.ID), expect("files", r.Stdout, d.tree))
}

func (d *demo) fork() (string, error) {
	var r schemas.ForkResult
	err := d.client.Call(d.ctx, "fork", args{"snapshot_id": d.snap.ID, "count": 3}, &r)
	d.forks = r.Sandboxes
	return fmt.Sprintf("%d new sandboxes from %s", len(r.Sandboxes), d.snap.ID), errors.Join(err, expect("forks", len(r.Sandboxes), 3))
}

// tryAll runs something else in each fork, all at the same time.
func (d *demo) tryAll() (string, error) {
	tries := []struct{ command, want string }{
		{"sort -u data/words.txt > data/out; head -n 1 data/out", "apple"},
		{"sort -r data/words.txt > data/out; head -n 1 data/out", "pear"},
		{"wc -l < data/words.txt > data/out; cat data/out", "4"},
	}
	results := make([]string, len(tries))
	var g errgroup.Group
	for i, try := range tries {
		g.Go(func() error {
			r, err := d.exec(d.forks[i].ID, try.command)
			results[i] = strings.TrimSpace(r.Stdout)
			return errors.Join(err, expect(try.command, results[i], try.want))
		})
	}
	if err := g.Wait(); err != nil {
		return "", err
	}
	for i, try := range tries {
		d.aside("fork %d: %-56s %s", i+1, try.command, results[i])
	}
	r, err := d.exec(d.box.ID, fingerprint)
	return "and the first sandbox saw none of it", errors.Join(err, expect("files", r.Stdout, d.tree))
}

// cleanUp removes whatever the story has made so far; it may run twice.
func (d *demo) cleanUp() (string, error) {
	var errs []error
	gone := 0
	for _, b := range append(d.forks, d.box) {
		if b.ID != "" {
			errs = append(errs, d.client.Call(d.ctx, "sandbox_destroy", args{"sandbox_id": b.ID}, nil))
			gone++
		}
	}
	if d.snap.ID != "" {
		errs = append(errs, d.client.Call(d.ctx, "snapshot_delete", args{"snapshot_id": d.snap.ID}, nil))
	}
	d.forks, d.box, d.snap = nil, schemas.Sandbox{}, schemas.Snapshot{}
	return fmt.Sprintf("%d sandboxes and the snapshot are gone", gone), errors.Join(errs...)
}

func (d *demo) exec(id schemas.SandboxID, command string) (r schemas.ExecResult, err error) {
	return r, d.client.Call(d.ctx, "exec", args{"sandbox_id": id, "command": command}, &r)
}

func expect[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v", what, got, want)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
