package manager

import (
	"context"
	"io"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)


// Exec runs a command and returns its output, capped per stream.
func (m *Manager) Exec(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ExecRequest) (schemas.ExecResult, error) {
	panic("stub")
}

// ExecStream runs a command and hands over raw output as it arrives; emit may block (back-pressure). No cap.
func (m *Manager) ExecStream(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ExecRequest, emit func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
	panic("stub")
}

// Paths are raw bytes, absolute or relative to /workspace.
func (m *Manager) ReadFile(ctx context.Context, o Owner, id schemas.SandboxID, path string, offset, length int64) (schemas.FileInfo, io.ReadCloser, error) {
	panic("stub")
}
func (m *Manager) StatFile(ctx context.Context, o Owner, id schemas.SandboxID, path string) (schemas.FileInfo, error) {
	panic("stub")
}

// WriteFile: mode is octal text, empty for the default rule.
func (m *Manager) WriteFile(ctx context.Context, o Owner, id schemas.SandboxID, path, mode string, content io.Reader) (schemas.FileInfo, error) {
	panic("stub")
}
func (m *Manager) ListFiles(ctx context.Context, o Owner, id schemas.SandboxID, path string, p schemas.Page) (schemas.FileList, error) {
	panic("stub")
}
func (m *Manager) Mkdir(ctx context.Context, o Owner, id schemas.SandboxID, path string) (schemas.FileInfo, error) {
	panic("stub")
}
func (m *Manager) MoveFile(ctx context.Context, o Owner, id schemas.SandboxID, from, to string) (schemas.FileInfo, error) {
	panic("stub")
}
func (m *Manager) DeleteFile(ctx context.Context, o Owner, id schemas.SandboxID, path string, recursive bool) error {
	panic("stub")
}

// ReadArchive streams a plain tar of a directory to w.
func (m *Manager) ReadArchive(ctx context.Context, o Owner, id schemas.SandboxID, path string, w io.Writer) error {
	panic("stub")
}

// WriteArchive extracts a plain tar into a directory of the workspace.
func (m *Manager) WriteArchive(ctx context.Context, o Owner, id schemas.SandboxID, path string, r io.Reader) error {
	panic("stub")
}

func (m *Manager) Snapshot(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.SnapshotRequest) (schemas.Snapshot, error) {
	panic("stub")
}
func (m *Manager) GetSnapshot(ctx context.Context, o Owner, id schemas.SnapshotID) (schemas.Snapshot, error) {
	panic("stub")
}

// ListSnapshots: sandbox "" lists those of all sandboxes.
func (m *Manager) ListSnapshots(ctx context.Context, o Owner, sandbox schemas.SandboxID, p schemas.Page) (schemas.SnapshotList, error) {
	panic("stub")
}
func (m *Manager) DeleteSnapshot(ctx context.Context, o Owner, id schemas.SnapshotID) error {
	panic("stub")
}
func (m *Manager) Rollback(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.RollbackRequest) (schemas.Sandbox, error) {
	panic("stub")
}

// Fork makes req.Count (default 1) sandboxes from a snapshot. With one fork asked for, its failure is the error;
// with several the result reports each.
func (m *Manager) Fork(ctx context.Context, o Owner, id schemas.SnapshotID, req schemas.ForkRequest) (schemas.ForkResult, error) {
	panic("stub")
}

// ForkSandbox snapshots a running sandbox, keeps the snapshot as parent, and forks from it.
func (m *Manager) ForkSandbox(ctx context.Context, o Owner, id schemas.SandboxID, req schemas.ForkRequest) (schemas.ForkResult, error) {
	panic("stub")
}
