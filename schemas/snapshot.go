package schemas

import "time"

// SnapshotRequest saves a sandbox's /workspace.
type SnapshotRequest struct {
	Name string `json:"name,omitempty" jsonschema:"maxLength=128" jsonschema_description:"A label for people; need not be unique. At most 128 characters."`
	// Pause stops the sandbox's other processes while the tar is made; nil is true.
	Pause *bool `json:"pause,omitempty" jsonschema_description:"Whether running processes are paused while the snapshot is taken. Default true."`
}

// Snapshot is a saved /workspace. It outlives the sandbox it came from.
type Snapshot struct {
	ID          SnapshotID  `json:"id" jsonschema_description:"Pass this as snapshot_id to roll back or fork."`
	SandboxID   SandboxID   `json:"sandbox_id"`
	Name        string      `json:"name,omitempty"`
	Image       string      `json:"image"`
	SizeBytes   int64       `json:"size_bytes" jsonschema_description:"Size of the uncompressed tar."`
	StoredBytes int64       `json:"stored_bytes" jsonschema_description:"Bytes on the server's disk."`
	Files       int64       `json:"files" jsonschema_description:"Number of files, directories and links."`
	SHA256      string      `json:"sha256" jsonschema_description:"Checksum of the stored bytes."`
	ParentID    *SnapshotID `json:"parent_id" jsonschema_description:"The snapshot the sandbox came from or was last rolled back to."`
	CreatedAt   time.Time   `json:"created_at"`
}

// SnapshotList is a page of snapshots, oldest first.
type SnapshotList struct {
	Snapshots  []Snapshot `json:"snapshots"`
	NextCursor string     `json:"next_cursor,omitempty" jsonschema_description:"Pass as cursor for the next page; absent on the last one."`
}

// RollbackRequest puts a sandbox back to a snapshot.
type RollbackRequest struct {
	SnapshotID SnapshotID `json:"snapshot_id" jsonschema_description:"The snapshot to go back to."`
}

// ForkRequest makes sandboxes from a snapshot; nil fields are the source's.
type ForkRequest struct {
	Count          *int              `json:"count,omitempty" jsonschema:"minimum=1,maximum=20" jsonschema_description:"How many sandboxes to make. Default 1."`
	Name           string            `json:"name,omitempty" jsonschema:"maxLength=128" jsonschema_description:"A label for the new sandboxes."`
	TimeoutSeconds *int64            `json:"timeout_seconds,omitempty" jsonschema:"minimum=1" jsonschema_description:"Time to live of each new sandbox in seconds, counted from now."`
	Network        *bool             `json:"network,omitempty" jsonschema_description:"Whether the new sandboxes may reach a network. Default: as the source."`
	CPUs           *float64          `json:"cpus,omitempty" jsonschema:"minimum=0.01" jsonschema_description:"CPU limit in cores. Default: as the source."`
	MemoryMB       *int64            `json:"memory_mb,omitempty" jsonschema:"minimum=16" jsonschema_description:"Memory limit in MiB. Default: as the source."`
	PidsLimit      *int64            `json:"pids_limit,omitempty" jsonschema:"minimum=32" jsonschema_description:"Limit of processes and threads. Default: as the source."`
	Env            map[string]string `json:"env,omitempty" jsonschema_description:"Environment variables added to the source's."`
}

// ForkResult reports each of several forks.
type ForkResult struct {
	Sandboxes []Sandbox `json:"sandboxes"`
	Errors    []Error   `json:"errors" jsonschema_description:"One for each fork that could not be made."`
}
