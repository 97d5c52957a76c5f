package manager

import (
	"context"
	"io"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// A Backend is how sandboxes exist. The manager decides what should be; a
// Backend makes it so and reports what is.
//
// A sandbox's incarnation is one container with one volume, named by a [Ref]
// that the manager chooses and records before anything is made. Rollback gives
// a sandbox a new incarnation; nothing is ever shared between two.
//
// Order of calls for one Ref: Create once; then Open, Inspect any number of
// times; Remove at last, which may also come first, or when Create failed or
// was cut off half-way. The manager never calls Create and Remove of one Ref at
// the same time; everything else may be concurrent, also for one Ref.
//
// What has the name of a ref but is not this server's is not there for Inspect
// and Remove, which leave it alone; for Open it is in the way.
//
// Every method obeys its context, and bounds its own time when the context has
// no deadline: a daemon that accepts and never answers ends in
// [KindUnavailable], not in a hang. Errors are [*Error] with a kind; a message
// never holds raw backend text, host paths or secrets (the cause may, for logs).
type Backend interface {
	// Name is the backend's kind, as "docker".
	Name() string

	// Probe asks whether the backend answers now. It is quick: at most a few
	// seconds, also when the backend hangs.
	Probe(ctx context.Context) (BackendInfo, error)

	// PrepareImage resolves a reference to an image that sandboxes can be made
	// from, pulling it when it is not there locally and a registry has it.
	// Concurrent calls for one reference share the work. A reference that is
	// malformed, or can neither be found nor pulled, is KindInvalid naming the
	// image. The result is valid until the image is removed from outside; a
	// Create that then finds it missing is KindInvalid too.
	PrepareImage(ctx context.Context, reference string) (Image, error)

	// HasImage tells whether a reference is there locally; it never asks a registry.
	HasImage(ctx context.Context, reference string) (bool, error)

	// Create makes volume and container for ref and starts it; the guest
	// inside answers when Create returns. On error nothing of ref is left,
	// unless the backend cannot be reached, when Remove will finish the job.
	// A name already taken is KindConflict and what has it stays untouched.
	Create(ctx context.Context, ref Ref, spec Spec, image Image) (Guest, error)

	// Open connects to the guest of an incarnation that Create has made, in
	// this process or an earlier one, first starting its container when it is
	// stopped, or making it again on its volume when it is gone. A volume that
	// is gone is KindFailed, and nothing is made. An incarnation has one
	// connection: one that was there before is lost, and the execs that it was
	// running have been killed when Open returns.
	Open(ctx context.Context, ref Ref, spec Spec, image Image) (Guest, error)

	// Inspect tells what there is of ref, without changing anything.
	Inspect(ctx context.Context, ref Ref) (State, error)

	// Remove destroys container and volume, whatever state they are in. It is
	// idempotent, also with itself at the same time; nil means that both are
	// gone. Open guests of ref end, their calls in flight with KindLost.
	Remove(ctx context.Context, ref Ref) error

	// List names everything in the backend that carries the managed label and
	// belongs to this server's instance (or to none), wherever it came from,
	// but for what the backend itself is just using.
	List(ctx context.Context) ([]Found, error)

	// RemoveFound destroys one thing that List reported. It is idempotent.
	RemoveFound(ctx context.Context, f Found) error

	// Close releases connections; guests that this Backend gave out are lost.
	// Sandboxes stay.
	Close() error
}

// Ref names one incarnation of a sandbox.
type Ref struct {
	Container string `json:"container"` // unique name
	Volume    string `json:"volume"`    // unique name
	// Key is the secret that opens the guest's channel: 64 hex digits, random
	// for each incarnation. It never leaves record, manager and backend.
	Key string `json:"key"`
}

// Spec is what a sandbox is made like. It is complete: no field means "default".
type Spec struct {
	Image          string            `json:"image"` // reference as asked for
	CPUs           float64           `json:"cpus"`
	MemoryMB       int64             `json:"memory_mb"`
	PidsLimit      int64             `json:"pids_limit"`
	Network        bool              `json:"network"`
	ReadOnlyRootfs bool              `json:"read_only_rootfs"`
	Env            map[string]string `json:"env,omitempty"` // per command, never the container's own
}

// Image is an image that sandboxes can be made from.
type Image struct {
	// ID names the prepared image to the backend.
	ID string `json:"id"`
	// Env is the image's own environment (NAME=value), for commands.
	Env []string `json:"env"`
	// Volumes are paths that the image declares as VOLUME.
	Volumes []string `json:"volumes,omitempty"`
}

// State is what there is of an incarnation.
type State struct {
	Container ContainerState
	Volume    bool // it exists
}

// ContainerState is whether a container is there and runs.
type ContainerState string

const (
	ContainerRunning ContainerState = "running"
	ContainerPaused  ContainerState = "paused" // frozen from outside
	ContainerStopped ContainerState = "stopped"
	ContainerGone    ContainerState = "gone"
)

// Found is one thing that List reported.
type Found struct {
	Kind FoundKind
	Name string // the name in Ref, or what the backend calls it
}

// FoundKind says what a Found is.
type FoundKind string

const (
	FoundContainer FoundKind = "container"
	FoundVolume    FoundKind = "volume"
	FoundNetwork   FoundKind = "network" // that sandboxes share, while none is on it
)

// BackendInfo is what Probe learnt.
type BackendInfo struct {
	Version string // of the daemon
	API     string // negotiated API version
	Runtime string // that sandboxes run under
}

// A Guest is a live connection to the process inside one incarnation. All
// methods may be called at once from many goroutines. When the connection or
// the container dies, every call in flight returns KindLost promptly, Done is
// closed, and the Guest is of no more use: Open gives a new one. A call whose
// context ends returns promptly with an error that wraps the context's cause.
//
// After a call has returned, the writer or emit it was given is not used again,
// and an error of theirs or of a reader is in the chain of what it returned. Of
// a reader, one Read may still be under way, for it may block longer than
// the call can wait.
//
// Paths are absolute and clean. Writing calls (Write, Mkdir, Move, Delete,
// Unpack) whose path, after symlinks, lies outside /workspace are KindInvalid and
// change nothing; reading calls may name any path. What is not there is
// KindNotFound; something of the wrong type, or a directory that is not empty,
// KindInvalid; something in the way KindConflict; what the sandbox user may not do
// KindForbidden. A FIFO or device is refused at once, never waited for.
type Guest interface {
	// Exec runs one command to its end. emit gets output in order, from one
	// goroutine at a time; it may block, which slows the command down, and must
	// not keep chunk. When ctx ends or emit fails, the command and all it
	// started are killed and that error is returned.
	//
	// Exit codes are the shell's: 126 and 127 for what cannot be run or found
	// (with nothing on standard output), 128+n for signal n. A timeout kills all
	// that the command started, sessions of their own included, and nothing else;
	// it is no error. Children that a command leaves behind when it ends live on
	// and hold nothing up. A Dir that is not there, or no directory, is KindInvalid.
	//
	// With c.Background set it may return while the command goes on: see there.
	Exec(ctx context.Context, c Command, emit func(s schemas.Stream, chunk []byte) error) (Exit, error)

	// Execs lists the background execs that are known, oldest first.
	Execs(ctx context.Context) ([]ExecState, error)
	// Poll reads a background exec's output from o's offsets on. What comes first
	// through emit is what there is, at most o.MaxBytes of each stream; when there
	// is nothing and the command still runs, it waits up to o.Wait for some, or for
	// the end. With o.Follow it goes on until the command has ended or ctx is done,
	// and the command waits for emit instead of losing what nobody has read yet.
	// Polling never changes what another poll sees. What comes through emit has no
	// holes, so under a flood that overruns the reader it may be less than there
	// was. An ID that is not known is KindNotFound.
	Poll(ctx context.Context, id schemas.ExecID, o PollOptions, emit func(s schemas.Stream, chunk []byte) error) (ExecState, error)
	// Input writes all of r to a background exec's standard input, and ends the
	// input if end is set. Calls for one exec are put one after the other. A
	// command that has ended, or has closed its input, is KindConflict; one that
	// does not read makes the call wait, until ctx ends. taken is how many bytes
	// the command's pipe took, on errors too; 0 when the connection was lost.
	Input(ctx context.Context, id schemas.ExecID, r io.Reader, end bool) (taken int64, err error)
	// Signal sends a signal, by name as "SIGINT", to the process group of a
	// background exec (on a terminal, to the one in the foreground too). One that
	// has ended is KindConflict.
	Signal(ctx context.Context, id schemas.ExecID, signal string) error
	// Kill ends a background exec with all it started, as a timeout does, and
	// returns when that is done. Of one that has ended it kills what that has left
	// behind. It is idempotent.
	Kill(ctx context.Context, id schemas.ExecID) error
	// Resize tells a background exec that has a terminal its new size. One that
	// has none is KindConflict.
	Resize(ctx context.Context, id schemas.ExecID, size WindowSize) error

	// Read opens a regular file, through links, and reads from offset (beyond
	// the end there is nothing) at most length bytes; negative: to the end. A
	// content reader that ends without an error has given all of it.
	Read(ctx context.Context, path string, offset, length int64) (File, io.ReadCloser, error)
	// Write makes or replaces a regular file, and its parents, all at once: on
	// any error the old content is still there, and nothing else.
	Write(ctx context.Context, path string, o WriteOptions, content io.Reader) (File, error)
	// Stat describes a path, of a link the link itself.
	Stat(ctx context.Context, path string) (File, error)
	// List gives at most limit entries whose names sort, bytewise, after the
	// given one; more tells whether others follow.
	List(ctx context.Context, path string, limit int, after string) (entries []File, more bool, err error)
	// Mkdir makes a directory and its parents. One that is there stays as it is.
	Mkdir(ctx context.Context, path string, mode *uint32) (File, error)
	// Move renames, making parents of the new name. A file there is replaced, a
	// directory is not.
	Move(ctx context.Context, from, to string) (File, error)
	// Delete removes one name; a directory that is not empty only recursively.
	Delete(ctx context.Context, path string, recursive bool) error

	// Pack writes a tar of a directory to w. An error means that what was
	// written is of no use. Names (any bytes), contents, modes (setuid and setgid
	// dropped), mtimes to the nanosecond, symlinks, hard links, empty directories,
	// user extended attributes and FIFOs come back out of Unpack as they were;
	// sockets are left out; files that their owner cannot read are included.
	// Paused processes go on afterwards, whatever happens.
	Pack(ctx context.Context, o PackOptions, w io.Writer) (ArchiveStats, error)
	// Unpack extracts a tar, as the sandbox user and into the directory only: an
	// entry that would leave it, or that is a device, is refused or made
	// harmless. A tar that is damaged, cut short or hostile is KindInvalid. After
	// an error part of it may be there.
	Unpack(ctx context.Context, o UnpackOptions, r io.Reader) (ArchiveStats, error)

	// SetDeadline tells the guest how long the sandbox may still live: when
	// that has passed and no newer deadline came, it stops by itself.
	SetDeadline(ctx context.Context, remaining time.Duration) error

	// Done is closed when the connection is of no more use.
	Done() <-chan struct{}
	// Close ends the connection; attached execs are killed, the sandbox stays.
	Close() error
}

// Command is one exec, complete: no field means "default".
type Command struct {
	Argv    []string
	Dir     string
	Env     []string // the whole environment, NAME=value
	Stdin   io.Reader
	Timeout time.Duration // 0: none
	// MaxStdout and MaxStderr, when not negative, are how many bytes of each
	// stream are emitted; the rest is counted and dropped inside the sandbox.
	MaxStdout, MaxStderr int64
	// Background, when set, lets the command outlive the call.
	Background *Background
}

// Background makes an exec one that has an ID and may outlive its call, its
// connection and the server. The guest keeps the last 1 MiB (less in a sandbox
// of little memory) of each stream, and MaxBackground of those that were handed
// over: for a new one the oldest that has ended is forgotten; when all run, a new
// one is KindLimit and nothing is started. What is still in its Wait does not
// count, so that hand-overs at the same time may make it a few more; what ends
// within its Wait is forgotten at once, for nobody was told its ID. They end with
// their container.
type Background struct {
	ID schemas.ExecID // new; one that is known is KindConflict
	// Wait is how long Exec stays with the command, as without Background: output
	// goes through emit, nothing is dropped, and the end of ctx or the connection
	// kills it. When Wait has passed and it still runs, Exec returns with
	// Exit.Running, and the totals of Exit are where Poll goes on without a gap. 0:
	// at once, when it has been started, and always with Exit.Running.
	Wait time.Duration
	// Input keeps standard input open for Input when Stdin is nil. A Stdin that is
	// not nil is the whole input; what the command has not read of it at the
	// hand-over is kept for it, up to as much as is kept of an output stream (of
	// more, the hand-over waits).
	Input bool
	// Terminal, when set, gives the command a controlling terminal of that size as
	// its standard streams; all output is stdout, and lines end in \r\n. Without a
	// Stdin its input is open, with or without Input above. The end of an input is
	// typed as a person does, with the end-of-file character (after a line that is
	// not finished, twice): more may follow, and a program that reads every key gets
	// the character. TERM is the caller's matter, in Env.
	Terminal *WindowSize
}

// MaxBackground is how many background execs a sandbox has at a time.
const MaxBackground = 32

// WindowSize of a terminal, each 1 to 4096.
type WindowSize struct {
	Columns, Rows uint16
}

// PollOptions of one poll.
type PollOptions struct {
	// Stdout and Stderr are offsets, in bytes since the command began. Beyond
	// what there is yet is KindInvalid. Negative, in a terminal or not: the last
	// so many bytes.
	Stdout, Stderr int64
	MaxBytes       int64 // of each stream; ignored with Follow
	Wait           time.Duration
	Follow         bool
}

// ExecState is a background exec at one moment.
type ExecState struct {
	ID       schemas.ExecID
	Argv     []string // the first 1 KiB or so of it
	Started  time.Time
	Terminal bool
	Running  bool
	// From Poll: where the output that came through emit began, for each stream;
	// larger than the offset asked for when that was already dropped.
	Stdout, Stderr int64
	// Exit has the totals of output while it runs, and everything afterwards,
	// with the totals final.
	Exit Exit
}

// Exit is how a command ended.
type Exit struct {
	Running                  bool // handed over: only totals and duration mean something
	Code                     int
	Signal                   string // "SIGKILL", empty when it exited
	TimedOut                 bool
	OOMKilled                bool
	StdoutBytes, StderrBytes int64
	Duration                 time.Duration
}

// File describes one path. Strings are raw bytes, not necessarily UTF-8.
type File struct {
	Name       string
	Path       string
	Type       schemas.FileType
	Size       int64
	Mode       uint32 // permission bits with setuid, setgid and sticky (07777)
	ModTime    time.Time
	LinkTarget string
}

// WriteOptions of one file.
type WriteOptions struct {
	Mode     *uint32 // nil keeps an existing file's mode, 0644 for a new one
	MaxBytes int64
}

// PackOptions of one tar out of a sandbox.
type PackOptions struct {
	Path     string
	Zstd     bool
	MaxBytes int64 // of uncompressed tar; beyond it KindTooLarge
	Pause    bool
	Check    bool // an error that can be foreseen comes before the first byte
}

// UnpackOptions of one tar into a sandbox.
type UnpackOptions struct {
	Path     string
	Zstd     bool
	Replace  bool // empty the directory first
	MaxBytes int64
	MaxFiles int64
}

// ArchiveStats counts one tar.
type ArchiveStats struct {
	Bytes int64 // uncompressed
	Files int64
}
