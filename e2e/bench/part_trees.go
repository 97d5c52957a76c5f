package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// trees measures saving a workspace, going back to it, and branching off.
func (r *rig) trees() error {
	for _, t := range []struct{ files, lines, rounds int }{{1, 10, 6}, {1000, 1500, 6}, {12000, 1600, 3}} {
		if err := r.tree(t.files, t.lines, t.rounds); err != nil {
			return err
		}
	}
	return nil
}

// tree makes a tree of text files, some 7 bytes a line, and measures with it.
func (r *rig) tree(files, lines, rounds int) error {
	box, model, err := r.boxAndModel(r.rest)
	if err != nil {
		return err
	}
	defer r.remove(r.rest, box.ID)
	fill := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do d=dir-$((i/100)); [ -d $d ] || mkdir $d; seq $i $((i+%d)) > $d/file-$i; i=$((i+1)); done`, files, lines)
	if err := r.sh(r.rest, box.ID, fill); err != nil {
		return err
	}
	what := fmt.Sprintf("%d files", files)
	if files == 1 {
		what = "1 file"
	}
	var saved bytes.Buffer
	var snap schemas.Snapshot
	err = r.compare("save "+what, rounds, 1,
		side{name: api, do: func() error {
			saved.Reset()
			_, err := r.docker.archive(r.ctx, model.ID, "/workspace/.", &saved)
			return err
		}},
		side{name: v1, do: func() error { return r.rest.Call(r.ctx, "snapshot", args{"sandbox_id": box.ID}, &snap) }})
	if err != nil {
		return err
	}
	r.once("stored, "+what, api, "MB", float64(saved.Len())/1e6)
	r.once("stored, "+what, v1, "MB", float64(snap.StoredBytes)/1e6)
	if err := r.restore(what, rounds, box.ID, snap.ID, saved.Bytes()); err != nil {
		return err
	}
	return r.forks(what, rounds, snap.ID)
}

// restore puts a tree into a fresh container: that is what a rollback does.
func (r *rig) restore(what string, rounds int, box schemas.SandboxID, snap schemas.SnapshotID, saved []byte) error {
	var name string
	return r.compare("restore "+what, rounds, 1,
		side{name: api, before: r.awaitRest,
			do: func() (err error) {
				if name, err = r.twin.create(r.ctx); err != nil {
					return err
				}
				return r.docker.extract(r.ctx, name, "/workspace", bytes.NewReader(saved))
			},
			after: func() error { return r.twin.remove(r.ctx, name) }},
		r.dockerRun(),
		side{name: v1,
			before: r.awaitRest,
			do: func() error {
				return r.rest.Call(r.ctx, "rollback", args{"sandbox_id": box, "snapshot_id": snap}, nil)
			}})
}

// dockerRun is what a fork and a rollback are held against: an empty container,
// in the same minute.
func (r *rig) dockerRun() side {
	var name string
	return side{name: cli, before: r.awaitRest,
		do:    func() (err error) { name, err = r.twin.run(r.ctx); return err },
		after: func() error { return r.twin.remove(r.ctx, name) }}
}

// awaitRest waits until the pool is full and nothing is being removed.
func (r *rig) awaitRest() error {
	return errors.Join(r.awaitPool(r.rest, 2), r.awaitGone(r.rest))
}

func (r *rig) forks(what string, rounds int, snap schemas.SnapshotID) error {
	var made schemas.ForkResult
	return r.compare("fork "+what, rounds, 1, r.dockerRun(), side{
		name:   v1Pool,
		before: r.awaitRest,
		do: func() error {
			return r.rest.Call(r.ctx, "fork", args{"snapshot_id": snap, "count": 1}, &made)
		},
		after: func() error { return r.remove(r.rest, made.Sandboxes[0].ID) },
	})
}

// noise is bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	src := rand.NewChaCha8([32]byte{1})
	io.ReadFull(src, b)
	return b
}

// tarOf is a tar with one file in it.
func tarOf(name string, content []byte) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Uid: 1000, Gid: 1000, Size: int64(len(content))})
	w.Write(content)
	w.Close()
	return b.Bytes()
}
