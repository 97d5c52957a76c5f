package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/jsonedit"
)

// maxClientFile is the largest file that is merged into: Claude Code keeps much
// more than its servers in one.
const maxClientFile = 64 << 20

// byteOrderMark is what some editors of Windows begin a file with.
var byteOrderMark = []byte("\xef\xbb\xbf")

// write merges the entry into the client's file.
func (s *setup) write(e *env) error {
	path, err := target(s.path)
	if err != nil {
		return err
	}
	before, mode, err := readClientFile(path)
	if err != nil {
		return err
	}
	text := bytes.TrimPrefix(before, byteOrderMark)
	mark := before[:len(before)-len(text)]
	after, err := s.merged(text)
	if err != nil {
		return fmt.Errorf("%s was left as it was: %w. Put it in by hand: mcp-sandbox setup prints what", s.path, err)
	}
	if bytes.Equal(after, text) {
		fmt.Fprintf(e.stdout, "%s has it already\n", s.path)
		return nil
	}
	if before != nil {
		backup, err := keep(path, before, mode)
		if err != nil {
			return fmt.Errorf("keep a copy of %s: %w", s.path, err)
		}
		fmt.Fprintf(e.stdout, "kept a copy: %s\n", backup)
	}
	if err := replaceFile(path, append(bytes.Clone(mark), after...), mode); err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	fmt.Fprintf(e.stdout, "wrote %s: %s now has the server %q. %s\n", s.path, s.title, s.name, s.then)
	return nil
}

// merged is the text with the entry in it. Of an entry that is there only what
// starts the server is changed.
func (s *setup) merged(text []byte) ([]byte, error) {
	at := []string{s.servers, s.name}
	var there map[string]any
	if ok, err := jsonedit.Get(text, at, &there); err != nil {
		return nil, err
	} else if !ok || there == nil {
		return jsonedit.Set(text, at, s.entry)
	}
	if there["url"] != nil {
		return nil, fmt.Errorf("its server %q is one at a URL; give another --name", s.name)
	}
	for _, member := range []struct {
		name      string
		old, want any
	}{
		{"type", there["type"], s.entry.Type},
		{"command", there["command"], s.entry.Command},
		{"args", there["args"], s.entry.Args},
	} {
		if member.want == "" || same(member.old, member.want) {
			continue
		}
		var err error
		if text, err = jsonedit.Set(text, append(at[:2:2], member.name), member.want); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// target is the file itself, where the name is a link to it.
func target(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a link to a file that is not there", path)
		}
		return path, nil
	}
	return real, err
}

// readClientFile is nil where there is no file.
func readClientFile(path string) (content []byte, mode fs.FileMode, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0o600, nil
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxClientFile:
		return nil, 0, fmt.Errorf("%s has %d bytes; more than %d are not merged into", path, info.Size(), maxClientFile)
	}
	content, err = os.ReadFile(path)
	if content == nil {
		content = []byte{}
	}
	return content, info.Mode().Perm(), err
}

// keep writes a copy beside the file, and over no other one.
func keep(path string, content []byte, mode fs.FileMode) (string, error) {
	stamp := time.Now().Format("20060102-150405")
	for i := 1; ; i++ {
		name := fmt.Sprintf("%s.%s.bak", path, stamp)
		if i > 1 {
			name = fmt.Sprintf("%s.%s-%d.bak", path, stamp, i)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) && i < 100 {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(content)
		return name, errors.Join(err, f.Sync(), f.Close())
	}
}

// replaceFile has the old content there until the new one is whole.
func replaceFile(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mcp-sandbox-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
