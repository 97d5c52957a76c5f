package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// core is what the routes ask of a [manager.Manager].
type core interface {
	Config() manager.Config

	Create(context.Context, manager.Owner, schemas.CreateSandboxRequest) (schemas.Sandbox, error)
	Get(context.Context, manager.Owner, schemas.SandboxID) (schemas.Sandbox, error)
	List(context.Context, manager.Owner, schemas.Page) (schemas.SandboxList, error)
	SetTimeout(context.Context, manager.Owner, schemas.SandboxID, schemas.SetTimeoutRequest) (schemas.Sandbox, error)
	Destroy(context.Context, manager.Owner, schemas.SandboxID) error

	Exec(context.Context, manager.Owner, schemas.SandboxID, schemas.ExecRequest) (schemas.ExecResult, *schemas.ExecState, error)
	ExecStream(context.Context, manager.Owner, schemas.SandboxID, schemas.ExecRequest, func(schemas.Stream, []byte) error) (schemas.ExecExit, *schemas.ExecState, error)
	ListExecs(context.Context, manager.Owner, schemas.SandboxID) (schemas.ExecList, error)
	PollExec(context.Context, manager.Owner, schemas.SandboxID, schemas.ExecID, schemas.ExecPoll) (schemas.ExecState, error)
	InputExec(ctx context.Context, o manager.Owner, id schemas.SandboxID, exec schemas.ExecID, data []byte, end bool) error
	SignalExec(context.Context, manager.Owner, schemas.SandboxID, schemas.ExecID, schemas.SignalRequest) error
	KillExec(context.Context, manager.Owner, schemas.SandboxID, schemas.ExecID) error

	OpenTerminal(context.Context, manager.Owner, schemas.SandboxID, schemas.TerminalRequest) (*manager.Terminal, error)

	ReadFile(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string, offset, length int64) (schemas.FileInfo, io.ReadCloser, error)
	WriteFile(ctx context.Context, o manager.Owner, id schemas.SandboxID, path, mode string, content io.Reader) (schemas.FileInfo, error)
	StatFile(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string) (schemas.FileInfo, error)
	DeleteFile(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string, recursive bool) error
	ListFiles(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string, p schemas.Page) (schemas.FileList, error)
	Mkdir(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string) (schemas.FileInfo, error)
	MoveFile(ctx context.Context, o manager.Owner, id schemas.SandboxID, from, to string) (schemas.FileInfo, error)
	ReadArchive(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string, w io.Writer) error
	WriteArchive(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string, r io.Reader) error

	Snapshot(context.Context, manager.Owner, schemas.SandboxID, schemas.SnapshotRequest) (schemas.Snapshot, error)
	GetSnapshot(context.Context, manager.Owner, schemas.SnapshotID) (schemas.Snapshot, error)
	ListSnapshots(context.Context, manager.Owner, schemas.SandboxID, schemas.Page) (schemas.SnapshotList, error)
	ExportSnapshot(ctx context.Context, o manager.Owner, id schemas.SnapshotID, w io.Writer) error
	ImportSnapshot(ctx context.Context, o manager.Owner, name, image string, r io.Reader) (schemas.Snapshot, error)
	DeleteSnapshot(context.Context, manager.Owner, schemas.SnapshotID) error
	Rollback(context.Context, manager.Owner, schemas.SandboxID, schemas.RollbackRequest) (schemas.Sandbox, error)
	Fork(context.Context, manager.Owner, schemas.SnapshotID, schemas.ForkRequest) (schemas.ForkResult, error)
	ForkSandbox(context.Context, manager.Owner, schemas.SandboxID, schemas.ForkRequest) (schemas.ForkResult, error)
}

var _ core = (*manager.Manager)(nil)

// server is what all calls share.
type server struct {
	cfg   Config
	core  core
	hosts *hosts
	times times
	slots *slots
	// document is kept here, since the table cannot refer to what is made of it.
	document []byte
	log      *slog.Logger
}

// times bound the waiting for others.
type times struct {
	heartbeat time.Duration // of silence in a stream before a blank line
	begin     time.Duration // of silence before a stream's head is sent
	patience  time.Duration // for a transfer that makes no progress at all
	body      time.Duration // for all of a JSON body
	linger    time.Duration // reading on after an upload was refused
	ping      time.Duration // between two questions whether a terminal's client is there
}

var standardTimes = times{
	heartbeat: 10 * time.Second,
	begin:     2 * time.Second,
	patience:  5 * time.Minute,
	body:      time.Minute,
	linger:    5 * time.Second,
	ping:      20 * time.Second,
}

// New is the door: every route of the /v1 API, health, metrics and the handlers
// of others, behind one set of checks.
func New(cfg Config) http.Handler { return newServer(cfg, cfg.Manager, standardTimes) }

func newServer(cfg Config, m core, t times) http.Handler {
	if cfg.MaxInFlight <= 0 {
		cfg.MaxInFlight = DefaultMaxInFlight
	}
	s := &server{
		cfg: cfg, core: m, times: t, log: cfg.Log,
		hosts:    newHosts(cfg.ListenHost, cfg.AllowedOrigins),
		slots:    newSlots(cfg.MaxInFlight),
		document: OpenAPI(),
	}
	return s.observe(s.checkHosts(s.authenticate(s.bound(s.mux()))))
}
