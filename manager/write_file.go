package manager

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// WriteFile replaces a file by content, whole or not at all, and makes its
// parents. mode is octal text; empty keeps an existing file's, 644 for a new one.
func (m *Manager) WriteFile(ctx context.Context, o Owner, id schemas.SandboxID, path, mode string, content io.Reader) (info schemas.FileInfo, err error) {
	defer m.observe("file_write", time.Now(), &err)
	clean, err := insidePath("path", path)
	if err != nil {
		return info, err
	}
	if strings.HasSuffix(path, "/") {
		return info, invalid("path is %.256q, which names a directory; a file's path does not end in /", path)
	}
	bits, err := parseMode(mode)
	if err != nil {
		return info, err
	}
	counted := &countingReader{from: content}
	err = m.do(ctx, o, id, func(ctx context.Context, g Guest) error {
		faults.Point("write.begun")
		f, err := g.Write(ctx, clean, WriteOptions{Mode: bits, MaxBytes: m.cfg.MaxFileBytes}, counted)
		faults.Point("write.done")
		info = fileInfo(f)
		if isKind(err, KindTooLarge) && counted.n.Load() > m.cfg.MaxFileBytes {
			return &Error{Kind: KindTooLarge, Message: fmt.Sprintf("the content is larger than %d bytes, the server's limit for one file; nothing was changed", m.cfg.MaxFileBytes), Cause: err}
		}
		return err
	})
	return info, err
}

// countingReader tells how much was read, also of a reader that is read elsewhere.
type countingReader struct {
	from io.Reader
	n    atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n.Add(int64(n))
	return n, err
}
