package tools

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// hugeFile has a file of 20 GB that must not be read to its end.
type hugeFile struct{ core }

func (hugeFile) Config() manager.Config { return manager.Config{MaxFileBytes: 1000} }

func (hugeFile) ReadFile(_ context.Context, _ manager.Owner, _ schemas.SandboxID, _ string, _, length int64) (schemas.FileInfo, io.ReadCloser, error) {
	if length < 0 || length > 1001 {
		return schemas.FileInfo{}, nil, fmt.Errorf("%d bytes were asked for", length)
	}
	f := schemas.FileInfo{Path: "/workspace/big", Size: 20 << 30}
	return f, io.NopCloser(io.LimitReader(&endless{}, length)), nil
}

// endless is lines of ten bytes.
type endless struct{ at int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "012345678\n"[e.at%10]
		e.at++
	}
	return len(p), nil
}

// manyFiles has a directory of 50 000 files with long names.
type manyFiles struct{ core }

func (manyFiles) Config() manager.Config { return manager.Config{} }

const manyFilesCount = 50_000

func fileNumber(i int) string { return fmt.Sprintf("%06d%s", i, strings.Repeat("é", 100)) }

func (manyFiles) ListFiles(_ context.Context, _ manager.Owner, _ schemas.SandboxID, path string, p schemas.Page) (schemas.FileList, error) {
	l := schemas.FileList{Path: path}
	from, _ := strconv.Atoi(p.Cursor)
	to := min(manyFilesCount, from+p.Limit)
	for i := from; i < to; i++ {
		l.Entries = append(l.Entries, schemas.FileInfo{
			Name: fileNumber(i), Path: path + "/" + fileNumber(i), Type: schemas.TypeFile, Mode: "644",
		})
	}
	if to < manyFilesCount {
		l.NextCursor = strconv.Itoa(to)
	}
	return l, nil
}

// configured has other settings than its core.
type configured struct {
	core
	cfg manager.Config
}

func (c configured) Config() manager.Config { return c.cfg }

// scripted runs a function instead of a command.
type scripted struct {
	core
	exec func(ctx context.Context, emit func(schemas.Stream, []byte) error) (schemas.ExecExit, error)
}

func (scripted) Config() manager.Config { return manager.Config{MaxExecOutputBytes: 10 << 20} }

func (s scripted) ExecStream(ctx context.Context, _ manager.Owner, _ schemas.SandboxID, _ schemas.ExecRequest, emit func(schemas.Stream, []byte) error) (schemas.ExecExit, *schemas.ExecState, error) {
	exit, err := s.exec(ctx, emit)
	return exit, nil, err
}
