package schemas

import "time"

// Status of a sandbox.
type Status string

const (
	// StatusRunning: its container runs.
	StatusRunning Status = "running"
	// StatusStopped: its container does not run; the next use starts it again
	// on the same workspace.
	StatusStopped Status = "stopped"
	// StatusFailed: its workspace is gone; only rollback and destroy work.
	StatusFailed Status = "failed"
)

// CreateSandboxRequest asks for a new sandbox. Every field is optional; nil
// means the server's default.
type CreateSandboxRequest struct {
	Name           string            `json:"name,omitempty" jsonschema:"maxLength=128" jsonschema_description:"A label for people; need not be unique. At most 128 characters."`
	Image          string            `json:"image,omitempty" jsonschema_description:"Container image to run. Leave it out for the server's default image."`
	CPUs           *float64          `json:"cpus,omitempty" jsonschema:"minimum=0.01" jsonschema_description:"CPU limit in cores, at least 0.01; fractions are allowed. Default 1."`
	MemoryMB       *int64            `json:"memory_mb,omitempty" jsonschema:"minimum=16" jsonschema_description:"Memory limit in MiB. Default 512."`
	PidsLimit      *int64            `json:"pids_limit,omitempty" jsonschema:"minimum=32" jsonschema_description:"Limit of processes and threads. Default 256."`
	Network        *bool             `json:"network,omitempty" jsonschema_description:"Whether the sandbox may reach a network. Default false."`
	ReadOnlyRootfs *bool             `json:"read_only_rootfs,omitempty" jsonschema_description:"Whether everything but /workspace and /tmp is read-only. Default true."`
	TimeoutSeconds *int64            `json:"timeout_seconds,omitempty" jsonschema:"minimum=1" jsonschema_description:"Time to live in seconds, counted from now; then the sandbox is destroyed. Default 900."`
	Env            map[string]string `json:"env,omitempty" jsonschema_description:"Environment variables that every command in the sandbox sees."`
}

// Sandbox is one isolated environment as clients see it. It never shows the
// values of its environment.
type Sandbox struct {
	ID               SandboxID   `json:"id" jsonschema_description:"Pass this as sandbox_id to every other call."`
	Name             string      `json:"name,omitempty"`
	Status           Status      `json:"status" jsonschema:"enum=running,enum=stopped,enum=failed"`
	Image            string      `json:"image"`
	CPUs             float64     `json:"cpus"`
	MemoryMB         int64       `json:"memory_mb"`
	PidsLimit        int64       `json:"pids_limit"`
	Network          bool        `json:"network"`
	ReadOnlyRootfs   bool        `json:"read_only_rootfs"`
	CreatedAt        time.Time   `json:"created_at"`
	ExpiresAt        time.Time   `json:"expires_at" jsonschema_description:"When the sandbox will be destroyed, unless its timeout is set again before."`
	SourceSnapshotID *SnapshotID `json:"source_snapshot_id" jsonschema_description:"The snapshot its workspace came from, if any."`
}

// SandboxList is a page of sandboxes, oldest first.
type SandboxList struct {
	Sandboxes  []Sandbox `json:"sandboxes"`
	NextCursor string    `json:"next_cursor,omitempty" jsonschema_description:"Pass as cursor for the next page; absent on the last one."`
}

// SetTimeoutRequest gives a sandbox a new time to live, counted from now.
type SetTimeoutRequest struct {
	TimeoutSeconds int64 `json:"timeout_seconds" jsonschema:"minimum=1" jsonschema_description:"New time to live in seconds, counted from now."`
}

// Page selects part of a list. The zero value is the first page of default size.
type Page struct {
	Limit  int
	Cursor string
}
