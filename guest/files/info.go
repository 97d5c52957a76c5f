//go:build linux

package files

import (
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// describe tells what was found at clean.
func describe(clean string, st *unix.Stat_t) protocol.FileInfo {
	return protocol.FileInfo{
		Name:    []byte(path.Base(clean)),
		Path:    []byte(clean),
		Type:    typeOf(st.Mode),
		Size:    st.Size,
		Mode:    st.Mode & 0o7777,
		ModTime: time.Unix(st.Mtim.Unix()).UTC(),
	}
}

func typeOf(mode uint32) protocol.FileType {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return protocol.TypeFile
	case unix.S_IFDIR:
		return protocol.TypeDirectory
	case unix.S_IFLNK:
		return protocol.TypeSymlink
	}
	return protocol.TypeOther
}

// describeAt is describe with the text of a link, when it may be read (some of
// another user's in /proc may not).
func describeAt(clean string, dir int, name string) (protocol.FileInfo, error) {
	st, err := lstat(dir, name)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	info := describe(clean, &st)
	if info.Type == protocol.TypeSymlink {
		target, err := readlink(dir, name)
		if err != nil && err != unix.EACCES && err != unix.EPERM {
			return protocol.FileInfo{}, err
		}
		info.LinkTarget = []byte(target)
	}
	return info, nil
}

// wantFile is an error when what is there is no regular file.
func wantFile(op, clean string, st *unix.Stat_t) error {
	switch typeOf(st.Mode) {
	case protocol.TypeFile:
		return nil
	case protocol.TypeDirectory:
		return refuse(protocol.ErrWrongType, op, clean, "it is a directory; list it, or name a file in it")
	}
	return refuse(protocol.ErrWrongType, op, clean, "not a regular file (FIFO, socket or device); use a command instead")
}
