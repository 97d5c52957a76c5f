package manager

import (
	"log/slog"
	"time"
)

// Config is everything a Manager can be told. There are no hidden defaults: the
// command fills every field from flags and environment, and checks each value.
type Config struct {
	DataDir string // records and snapshots, made with mode 0700

	DefaultImage  string   // empty: BaseImage when it is there locally, else FallbackImage
	AllowedImages []string // globs over image references; "*" allows all
	AllowNetwork  bool

	MaxSandboxes int
	WarmPool     int // spare sandboxes kept ready; 0: none

	DefaultTimeoutSeconds, MaxTimeoutSeconds int64
	DefaultCPUs, MaxCPUs                     float64
	DefaultMemoryMB, MaxMemoryMB             int64
	DefaultPidsLimit, MaxPidsLimit           int64

	DefaultExecTimeoutSeconds, MaxExecTimeoutSeconds float64
	MaxExecOutputBytes                               int64 // per stream of a buffered exec
	MaxFileBytes                                     int64
	MaxSnapshotBytes                                 int64 // uncompressed tar

	ReapInterval time.Duration

	Log      *slog.Logger
	Observer Observer // nil: nobody counts
	Clock    Clock    // nil: the machine's
}

const (
	// BaseImage is the image that scripts/base-image makes.
	BaseImage = "mcp-sandbox/base:latest"
	// FallbackImage is the default where BaseImage is not there.
	FallbackImage = "python:3.12-slim"
)
