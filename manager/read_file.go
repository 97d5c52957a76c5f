package manager

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ReadFile gives a file's content from offset, length bytes of it or, when
// length is negative, all. All of a file may not be more than MaxFileBytes; of a
// larger one a range can be read. The content must be closed, and ends with a
// typed error when the sandbox goes away.
func (m *Manager) ReadFile(ctx context.Context, o Owner, id schemas.SandboxID, path string, offset, length int64) (_ schemas.FileInfo, _ io.ReadCloser, err error) {
	defer m.observe("file_read", time.Now(), &err)
	clean, err := cleanPath("path", path)
	if err != nil {
		return schemas.FileInfo{}, nil, err
	}
	if offset < 0 {
		return schemas.FileInfo{}, nil, invalid("offset is %d; it must not be negative", offset)
	}
	v, err := m.enter(ctx, o, id)
	if err != nil {
		return schemas.FileInfo{}, nil, err
	}
	f, content, err := v.read(clean, offset, length)
	if err != nil {
		err = v.explain(err)
		v.leave()
		return schemas.FileInfo{}, nil, err
	}
	return fileInfo(f), &body{content: content, v: v}, nil
}

func (v *visit) read(path string, offset, length int64) (f File, content io.ReadCloser, err error) {
	err = v.twice(func(ctx context.Context, g Guest) (err error) {
		f, content, err = g.Read(ctx, path, offset, length)
		return err
	})
	if err != nil {
		return f, nil, err
	}
	if limit := v.m.cfg.MaxFileBytes; length < 0 && f.Size-offset > limit {
		content.Close()
		return f, nil, &Error{
			Kind: KindTooLarge, Message: fmt.Sprintf("the file has %d bytes; at most %d are read at once", f.Size, limit),
			Hint: "Read a part of it, by a range or with a command such as head, tail or sed -n.",
		}
	}
	return f, content, nil
}

// body is a file's content on its way out; the visit lasts as long.
type body struct {
	content io.ReadCloser
	v       *visit
	once    sync.Once
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	if err != nil && err != io.EOF {
		err = b.v.explain(err)
	}
	return n, err
}

func (b *body) Close() (err error) {
	b.once.Do(func() {
		err = b.content.Close()
		b.v.leave()
	})
	return err
}
