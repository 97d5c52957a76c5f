package manager

import (
	"context"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	defaultFilePage = 1000
	maxFilePage     = 10000
)

// ListFiles describes what is in a directory, sorted by name, a page at a time.
func (m *Manager) ListFiles(ctx context.Context, o Owner, id schemas.SandboxID, path string, p schemas.Page) (_ schemas.FileList, err error) {
	defer m.observe("file_list", time.Now(), &err)
	clean, err := cleanPath("path", path)
	if err != nil {
		return schemas.FileList{}, err
	}
	w, err := checkPage(p, filePages, defaultFilePage, maxFilePage)
	if err != nil {
		return schemas.FileList{}, err
	}
	var files []File
	var more bool
	err = m.ask(ctx, o, id, func(ctx context.Context, g Guest) (err error) {
		files, more, err = g.List(ctx, clean, w.limit, w.after)
		return err
	})
	if err != nil {
		return schemas.FileList{}, err
	}
	return fileList(clean, files, more), nil
}

func fileList(path string, files []File, more bool) schemas.FileList {
	list := schemas.FileList{Path: showText(path), Entries: make([]schemas.FileInfo, 0, len(files))}
	for _, f := range files {
		list.Entries = append(list.Entries, fileInfo(f))
	}
	if more && len(files) > 0 {
		list.NextCursor = filePages.cursor(files[len(files)-1].Name)
	}
	return list
}
