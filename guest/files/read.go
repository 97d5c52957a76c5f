//go:build linux

package files

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// maxGenerated bounds a file of /proc or /sys, which is read whole.
const maxGenerated = 1 << 20

// Read opens a regular file, following links. The reader gives exactly the part
// asked for of the file as large as it was when it was opened: less than that is
// [io.ErrUnexpectedEOF], so a file that shrinks meanwhile cannot pass for whole.
func (f *Files) Read(p protocol.ReadParams) (protocol.FileInfo, io.ReadCloser, error) {
	const op = "read"
	clean, err := parse(op, p.Path)
	if err == nil && p.Offset < 0 {
		err = refuse(protocol.ErrInvalid, op, clean, "the offset is negative")
	}
	if err != nil {
		return protocol.FileInfo{}, nil, err
	}
	at, err := f.locate(op, clean, true)
	if err != nil {
		return protocol.FileInfo{}, nil, err
	}
	defer at.close()
	file, st, err := openFile(op, clean, at)
	if err != nil {
		return protocol.FileInfo{}, nil, Fail(op, clean, err)
	}
	info := describe(clean, &st)
	body, err := part(file, &info, p)
	if err != nil {
		file.Close()
		return protocol.FileInfo{}, nil, Fail(op, clean, err)
	}
	return info, body, nil
}

// openFile opens a regular file. The type is asked before opening, because
// opening a FIFO wakes whoever waits at its other end, and after, because it
// may be another file by then.
func openFile(op, clean string, at *spot) (*os.File, unix.Stat_t, error) {
	st, err := lstat(at.dir, at.name)
	if err == nil {
		err = wantFile(op, clean, &st)
	}
	if err != nil {
		return nil, st, err
	}
	fd, err := openat(at.dir, at.name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, st, err
	}
	if err = unix.Fstat(fd, &st); err == nil {
		err = wantFile(op, clean, &st)
	}
	if err == nil {
		err = refuseOwn(fd)
	}
	if err != nil {
		unix.Close(fd)
		return nil, st, err
	}
	return os.NewFile(uintptr(fd), clean), st, nil
}

// part gives the bytes asked for, and the true size in info.
func part(file *os.File, info *protocol.FileInfo, p protocol.ReadParams) (io.ReadCloser, error) {
	var from io.ReaderAt = file
	if isGenerated(int(file.Fd())) {
		all, err := io.ReadAll(io.LimitReader(file, maxGenerated+1))
		if err != nil {
			return nil, err
		}
		if len(all) > maxGenerated {
			return nil, unix.EFBIG
		}
		from, info.Size = bytes.NewReader(all), int64(len(all))
	}
	n := max(info.Size-p.Offset, 0)
	if p.Length >= 0 {
		n = min(n, p.Length)
	}
	return &body{Closer: file, from: io.NewSectionReader(from, p.Offset, n), left: n}, nil
}

// isGenerated tells file systems whose files do not know their size: they say 0
// or a page, and have more or less than that.
func isGenerated(fd int) bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC:
		return true
	}
	return false
}

// body reads left bytes, or fails.
type body struct {
	io.Closer
	from io.Reader
	left int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.left -= int64(n)
	if err == io.EOF && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
