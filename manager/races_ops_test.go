package manager_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/races"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// do carries out the i-th operation of a race, and says what came of it.
func (r *race) do(op races.Op, i int) (x result) {
	switch op {
	case races.Restart:
		r.Close()
		r.next = restart(r.t, r.server)
	case races.Expiry:
		time.Sleep(time.Until(r.box.ExpiresAt) + time.Second)
	default:
		x.err = r.call(op, i, &x)
	}
	x.op, x.outcome = op, races.Done
	if x.err != nil {
		x.outcome = races.OfError(manager.Public(x.err))
	}
	return x
}

// call makes the call that an operation is.
func (r *race) call(op races.Op, i int, x *result) (err error) {
	ctx, id := r.t.Context(), r.box.ID
	switch op {
	case races.Exec:
		var got schemas.ExecResult
		got, err = r.sh(id, script(fileOf(op, i)))
		return said(got.Stdout, err)
	case races.Stream:
		var out strings.Builder
		_, _, err = r.ExecStream(ctx, owner, id, schemas.ExecRequest{Command: shell(script(fileOf(op, i)))}, func(_ schemas.Stream, chunk []byte) error {
			out.Write(chunk)
			return nil
		})
		return said(out.String(), err)
	case races.Put:
		return r.put(id, fileOf(op, i), upload)
	case races.Snapshot:
		var snap schemas.Snapshot
		snap, err = r.Snapshot(ctx, owner, id, schemas.SnapshotRequest{})
		x.snap = snap.ID
	case races.Fork:
		var forked schemas.ForkResult
		forked, err = r.ForkSandbox(ctx, owner, id, schemas.ForkRequest{})
		x.forks = forked.Sandboxes
	case races.Rollback:
		_, err = r.rollback(id, r.saved)
	case races.Renew:
		var b schemas.Sandbox
		b, err = r.SetTimeout(ctx, owner, id, schemas.SetTimeoutRequest{TimeoutSeconds: raceTTL})
		x.renewed = b.ExpiresAt
	case races.Destroy:
		return r.Destroy(ctx, owner, id)
	}
	return err
}

// upload is what Put writes: more than fits into one read.
var upload = strings.Repeat("0123456789abcdef", 8<<10)

// script writes a file bit by bit and says so.
func script(file string) string {
	return fmt.Sprintf("echo a > %[1]s; sleep 0.004; echo b >> %[1]s; echo said", file)
}

// said is an error when a command that is done has not said all.
func said(out string, err error) error {
	if err == nil && out != "said\n" {
		return errors.New("the command is done and has said " + out)
	}
	return err
}

// written is what an operation writes into its file, in the end and on the way.
func written(op races.Op) (whole string, parts []string) {
	switch op {
	case races.Exec, races.Stream:
		return "a\nb\n", []string{"", "a\n"}
	case races.Put:
		return upload, nil
	}
	return "", nil
}

func fileOf(op races.Op, i int) string { return fmt.Sprint(op, i) }

// records names the records on disk.
func (s *server) records() []string {
	names, err := filepath.Glob(filepath.Join(s.cfg.DataDir, "sandboxes", "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return names
}
