package manager

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// snapVersion is the shape of snapRecord that this build writes and reads.
const snapVersion = 1

// snapRecord is what is kept on disk of one snapshot beside its tar. It never
// changes, and needs nothing of the sandbox it came from: a fork works when
// that is long gone.
type snapRecord struct {
	Version     int                 `json:"version"`
	ID          schemas.SnapshotID  `json:"id"`
	Owner       Owner               `json:"owner"`
	Name        string              `json:"name,omitempty"`
	Sandbox     schemas.SandboxID   `json:"sandbox"`
	Parent      *schemas.SnapshotID `json:"parent,omitempty"`
	Spec        Spec                `json:"spec"`
	CreatedAt   time.Time           `json:"created_at"`
	SizeBytes   int64               `json:"size_bytes"`   // of the tar, as the sandbox counted
	Files       int64               `json:"files"`        // likewise
	StoredBytes int64               `json:"stored_bytes"` // of the file, as we counted
	SHA256      string              `json:"sha256"`       // of the file
}

// check tells what makes a record that was read from disk unusable.
func (r snapRecord) check() error {
	if r.Version != snapVersion {
		return fmt.Errorf("version is %d, this server reads %d", r.Version, snapVersion)
	}
	if _, err := schemas.ParseSnapshotID(string(r.ID)); err != nil {
		return err
	}
	sum, err := hex.DecodeString(r.SHA256)
	if err != nil || len(sum) != 32 {
		return fmt.Errorf("checksum is %q", r.SHA256)
	}
	if r.Owner == "" || r.Spec.Image == "" || r.StoredBytes < 0 || r.SizeBytes < 0 {
		return fmt.Errorf("owner, image or a size is missing")
	}
	return nil
}

// view is the snapshot as its owner sees it.
func (r snapRecord) view() schemas.Snapshot {
	return schemas.Snapshot{
		ID: r.ID, SandboxID: r.Sandbox, Name: r.Name, Image: r.Spec.Image,
		SizeBytes: r.SizeBytes, StoredBytes: r.StoredBytes, Files: r.Files, SHA256: r.SHA256,
		ParentID: r.Parent, CreatedAt: r.CreatedAt.UTC(),
	}
}

// noSnapshot is the one answer for a snapshot that a caller may not know of.
func noSnapshot(id schemas.SnapshotID) *Error {
	return &Error{
		Kind: KindNotFound, Message: fmt.Sprintf("no snapshot %s", id),
		Hint: "It may have been deleted. List snapshots to see what there is.",
	}
}

// damaged is a snapshot whose file is not what was once stored.
func damaged(id schemas.SnapshotID, how string, cause error) *Error {
	return &Error{
		Kind: KindConflict, Message: fmt.Sprintf("snapshot %s is damaged: %s", id, how), Cause: cause,
		Hint: "Nothing was changed. Use another snapshot, and delete this one.",
	}
}
