package tools

import (
	"context"
	"io"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// core is what the tools ask of a [manager.Manager].
type core interface {
	Config() manager.Config

	Create(context.Context, manager.Owner, schemas.CreateSandboxRequest) (schemas.Sandbox, error)
	Get(context.Context, manager.Owner, schemas.SandboxID) (schemas.Sandbox, error)
	List(context.Context, manager.Owner, schemas.Page) (schemas.SandboxList, error)
	SetTimeout(context.Context, manager.Owner, schemas.SandboxID, schemas.SetTimeoutRequest) (schemas.Sandbox, error)
	Destroy(context.Context, manager.Owner, schemas.SandboxID) error

	ExecStream(context.Context, manager.Owner, schemas.SandboxID, schemas.ExecRequest, func(schemas.Stream, []byte) error) (schemas.ExecExit, *schemas.ExecState, error)
	ListExecs(context.Context, manager.Owner, schemas.SandboxID) (schemas.ExecList, error)
	WatchExec(ctx context.Context, o manager.Owner, id schemas.SandboxID, exec schemas.ExecID, p schemas.ExecPoll, quiet time.Duration, emit func(s schemas.Stream, skipped int64, chunk []byte)) (schemas.ExecState, error)
	InputExec(ctx context.Context, o manager.Owner, id schemas.SandboxID, exec schemas.ExecID, data []byte, end bool) error
	SignalExec(context.Context, manager.Owner, schemas.SandboxID, schemas.ExecID, schemas.SignalRequest) error
	KillExec(context.Context, manager.Owner, schemas.SandboxID, schemas.ExecID) error

	ReadFile(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string, offset, length int64) (schemas.FileInfo, io.ReadCloser, error)
	WriteFile(ctx context.Context, o manager.Owner, id schemas.SandboxID, path, mode string, content io.Reader) (schemas.FileInfo, error)
	ListFiles(ctx context.Context, o manager.Owner, id schemas.SandboxID, path string, p schemas.Page) (schemas.FileList, error)

	Snapshot(context.Context, manager.Owner, schemas.SandboxID, schemas.SnapshotRequest) (schemas.Snapshot, error)
	GetSnapshot(context.Context, manager.Owner, schemas.SnapshotID) (schemas.Snapshot, error)
	ListSnapshots(context.Context, manager.Owner, schemas.SandboxID, schemas.Page) (schemas.SnapshotList, error)
	DeleteSnapshot(context.Context, manager.Owner, schemas.SnapshotID) error
	Rollback(context.Context, manager.Owner, schemas.SandboxID, schemas.RollbackRequest) (schemas.Sandbox, error)
	Fork(context.Context, manager.Owner, schemas.SnapshotID, schemas.ForkRequest) (schemas.ForkResult, error)
	ForkSandbox(context.Context, manager.Owner, schemas.SandboxID, schemas.ForkRequest) (schemas.ForkResult, error)
}

var _ core = (*manager.Manager)(nil)

type ownerKey struct{}

// WithOwner says whose calls are made under ctx. Every transport must.
func WithOwner(ctx context.Context, o manager.Owner) context.Context {
	return context.WithValue(ctx, ownerKey{}, o)
}

func ownerOf(ctx context.Context) (manager.Owner, bool) {
	o, ok := ctx.Value(ownerKey{}).(manager.Owner)
	return o, ok
}
