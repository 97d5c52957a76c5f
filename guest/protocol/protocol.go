// Package protocol is what a server and the guest inside a sandbox say to each
// other: plain types and a frame format, no behaviour.
//
// The two ends speak HTTP/2 over one byte stream (the container's standard
// input and output). Every call is a POST to one of the Path constants. A
// request body is a Params frame (4-byte big-endian length, then that many
// bytes of JSON) followed by the call's raw payload, if it has one (standard
// input, file content, a tar). A response is either JSON, a raw byte stream, or
// (exec) a sequence of output frames. A call that fails before its first byte
// answers with a non-200 status and an [Error] as JSON; one that fails later
// says so in the [ErrorTrailer] HTTP trailer.
//
// Paths inside a sandbox are byte strings, not text (POSIX allows any byte but
// NUL and '/'), so they travel as []byte, which JSON carries as base64.
package protocol

import "time"

// Version is the protocol's version. A server that meets a guest of another
// version must replace the container, not guess. What is merely added gets a path
// of its own, so that older guests live on: they refuse it (see [ErrUnknownCall]).
const Version = 1

// Calls, one HTTP/2 path each.
const (
	PathHello    = "/hello"    // -> Hello
	PathExec     = "/exec"     // ExecParams + stdin -> output frames
	PathRead     = "/read"     // ReadParams -> InfoHeader + bytes
	PathWrite    = "/write"    // WriteParams + bytes -> FileInfo
	PathStat     = "/stat"     // StatParams -> FileInfo
	PathList     = "/list"     // ListParams -> ListResult
	PathMkdir    = "/mkdir"    // MkdirParams -> FileInfo
	PathMove     = "/move"     // MoveParams -> FileInfo
	PathDelete   = "/delete"   // DeleteParams -> {}
	PathPack     = "/pack"     // PackParams -> tar bytes + StatsTrailer
	PathUnpack   = "/unpack"   // UnpackParams + tar bytes -> ArchiveStats
	PathDeadline = "/deadline" // DeadlineParams -> {}
)

// Header and trailer names that carry JSON beside a raw byte stream.
const (
	InfoHeader   = "X-Guest-Info"  // FileInfo of the file that follows
	StatsTrailer = "X-Guest-Stats" // ArchiveStats of the tar that came
	ErrorTrailer = "X-Guest-Error" // Error that cut the stream short
)

// Workspace is the directory that a sandbox may write and that snapshots cover.
const Workspace = "/workspace"

// Exit codes of the guest, which are the container's.
const (
	ExitSetup    = 70 // it could not set itself up; standard error says why
	ExitInput    = 71 // its standard input ended: no server can ever reach it again
	ExitDeadline = 72 // the deadline passed that a server had set
)

// Hello is what a guest says of itself.
type Hello struct {
	Version int       `json:"version"`
	Started time.Time `json:"started"` // when this guest process began
	Execs   int       `json:"execs"`   // execs running now
}

// ExecParams starts one command.
type ExecParams struct {
	// Argv is the program and its arguments; never empty. The guest looks
	// Argv[0] up in the PATH of Env unless it contains a slash.
	Argv []string `json:"argv"`
	// Dir is the working directory, absolute.
	Dir []byte `json:"dir"`
	// Env is the whole environment, NAME=value.
	Env []string `json:"env"`
	// HasStdin false gives the command an immediate end of file.
	HasStdin bool `json:"has_stdin"`
	// Timeout kills the whole tree when it passes; 0 means none.
	Timeout time.Duration `json:"timeout"`
	// MaxStdout and MaxStderr, when not negative, are how many bytes of each
	// stream are sent; what comes after is counted and dropped. Negative: all.
	MaxStdout int64 `json:"max_stdout"`
	MaxStderr int64 `json:"max_stderr"`
	// Packs: output frames may come packed. A guest of an older release does not
	// know it, and sends them plain.
	Packs bool `json:"packs,omitempty"`
}

// ExecResult is how a command ended; the last frame of an exec's response.
type ExecResult struct {
	// Running: the command goes on in the background. The totals are where its
	// output goes on, and of the rest only Duration means something.
	Running bool `json:"running,omitempty"`
	// ExitCode is the shell's: 126 not executable, 127 not found, 128+n for
	// signal n, 137 for a run killed at its timeout.
	ExitCode int `json:"exit_code"`
	// Signal that ended the command itself, as "SIGKILL"; empty when it exited.
	Signal string `json:"signal,omitempty"`
	// TimedOut is set by the guest's own timer, never inferred.
	TimedOut  bool `json:"timed_out,omitempty"`
	OOMKilled bool `json:"oom_killed,omitempty"`
	// StdoutBytes and StderrBytes are totals produced, dropped bytes included.
	StdoutBytes int64         `json:"stdout_bytes"`
	StderrBytes int64         `json:"stderr_bytes"`
	Duration    time.Duration `json:"duration"`
}

// FileType is the kind of a directory entry.
type FileType string

const (
	TypeFile      FileType = "file"
	TypeDirectory FileType = "directory"
	TypeSymlink   FileType = "symlink"
	TypeOther     FileType = "other" // FIFO, socket, device
)

// FileInfo describes one path, without following a final symlink, except in
// answers to read and write where it describes the file itself.
type FileInfo struct {
	Name       []byte    `json:"name"` // last component
	Path       []byte    `json:"path"` // absolute, normalised
	Type       FileType  `json:"type"`
	Size       int64     `json:"size"`
	Mode       uint32    `json:"mode"` // permission bits with setuid, setgid, sticky (07777)
	ModTime    time.Time `json:"mtime"`
	LinkTarget []byte    `json:"link_target,omitempty"`
}

type ReadParams struct {
	Path   []byte `json:"path"`
	Offset int64  `json:"offset"` // from the start; beyond the end gives no bytes
	Length int64  `json:"length"` // at most this many bytes; negative: to the end
}

type WriteParams struct {
	Path []byte `json:"path"` // absolute, inside Workspace
	// Mode are permission bits (0777) for the file; nil keeps an existing
	// file's mode, and gives a new one 0644.
	Mode *uint32 `json:"mode,omitempty"`
	// MaxBytes bounds the content: one byte more is ErrTooLarge and the old
	// content stays. Negative: no bound.
	MaxBytes int64 `json:"max_bytes"`
}

type StatParams struct {
	Path []byte `json:"path"`
}

type ListParams struct {
	Path  []byte `json:"path"`
	Limit int    `json:"limit"`           // at most this many entries; 0 is 1000, and more than 10000 is 10000
	After []byte `json:"after,omitempty"` // only names that sort (bytewise) after this one
}

type ListResult struct {
	Path    []byte     `json:"path"`
	Entries []FileInfo `json:"entries"` // sorted by name, bytewise
	More    bool       `json:"more"`    // names follow after the last entry
}

type MkdirParams struct {
	Path []byte  `json:"path"` // parents are made too; an existing directory is fine
	Mode *uint32 `json:"mode,omitempty"`
}

type MoveParams struct {
	From []byte `json:"from"`
	To   []byte `json:"to"` // parents are made; an existing file is replaced, a directory is ErrExists
}

type DeleteParams struct {
	Path      []byte `json:"path"`
	Recursive bool   `json:"recursive"`
}

// PackParams asks for a tar of a directory.
type PackParams struct {
	Path []byte `json:"path"` // absolute directory
	Zstd bool   `json:"zstd"` // compress the stream
	// MaxBytes bounds the uncompressed tar: ErrTooLarge as soon as it is sure
	// to be passed. Negative: no bound.
	MaxBytes int64 `json:"max_bytes"`
	// Pause stops the sandbox's other processes while the tar is made.
	Pause bool `json:"pause"`
	// Check: an error that can be foreseen comes before the first byte. A guest
	// of an older release does not know it.
	Check bool `json:"check,omitempty"`
}

// UnpackParams extracts a tar into a directory.
type UnpackParams struct {
	Path []byte `json:"path"` // absolute directory inside Workspace
	Zstd bool   `json:"zstd"`
	// Replace empties the directory first, so that what is there afterwards is
	// exactly the tar.
	Replace  bool  `json:"replace"`
	MaxBytes int64 `json:"max_bytes"` // of uncompressed tar; negative: no bound
	MaxFiles int64 `json:"max_files"` // entries; negative: no bound
}

// ArchiveStats counts one tar.
type ArchiveStats struct {
	Bytes int64 `json:"bytes"` // uncompressed tar
	Files int64 `json:"files"` // entries, the root directory not counted
}

// DeadlineParams tells the guest how long the sandbox may still live. The guest
// exits, which stops the container, when it has passed and no newer one came.
type DeadlineParams struct {
	Remaining time.Duration `json:"remaining"`
}

// Code says what kind of failure an Error is.
type Code string

const (
	ErrInvalid     Code = "invalid"      // the request makes no sense (path, workdir, argv)
	ErrEscapes     Code = "escapes"      // would leave the workspace, lexically or through a symlink
	ErrNotFound    Code = "not_found"    // no such file or directory
	ErrExists      Code = "exists"       // something of another kind is there
	ErrNotEmpty    Code = "not_empty"    // directory not empty and not recursive
	ErrWrongType   Code = "wrong_type"   // directory, FIFO, socket or device where a file is needed, or the reverse
	ErrPermission  Code = "permission"   // the sandbox user may not
	ErrTooLarge    Code = "too_large"    // over MaxBytes or MaxFiles
	ErrNoSpace     Code = "no_space"     // disk, inodes or quota used up
	ErrBadArchive  Code = "bad_archive"  // not a tar, cut short, or with entries that may not be extracted
	ErrNoProcesses Code = "no_processes" // the process limit is used up: nothing could be started
	ErrBusy        Code = "busy"         // more calls at once than the guest serves
	ErrTooMany     Code = "too_many"     // MaxBackground execs run
	ErrConflict    Code = "conflict"     // a background exec is not like that: it has ended, closed its input, has no terminal
	ErrUnknownCall Code = "unknown_call" // the guest is of a release that has no such call
	ErrInternal    Code = "internal"
)

// Error is a failed call. Message is safe to show to the sandbox's owner: it
// names paths inside the sandbox only.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Known reports whether c is one of the codes above.
func (c Code) Known() bool {
	switch c {
	case ErrInvalid, ErrEscapes, ErrNotFound, ErrExists, ErrNotEmpty, ErrWrongType, ErrPermission,
		ErrTooLarge, ErrNoSpace, ErrBadArchive, ErrNoProcesses, ErrBusy, ErrTooMany, ErrConflict, ErrUnknownCall, ErrInternal:
		return true
	}
	return false
}
