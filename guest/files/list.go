//go:build linux

package files

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

const (
	defaultEntries = 1000
	maxEntries     = 10000
)

// List gives one page of a directory, following a link to it. Only the names of
// that page are kept and looked at, however many there are. Limit 0 means 1000;
// more than 10000 is taken as 10000. An entry that vanishes meanwhile is left
// out, so a page may be short although More is set.
func (f *Files) List(p protocol.ListParams) (protocol.ListResult, error) {
	const op = "list"
	clean, err := parse(op, p.Path)
	if err != nil {
		return protocol.ListResult{}, err
	}
	dir, err := f.openReadable(op, clean)
	if err != nil {
		return protocol.ListResult{}, err
	}
	defer dir.Close()
	limit := p.Limit
	if limit <= 0 {
		limit = defaultEntries
	}
	limit = min(limit, maxEntries)
	names, err := firstNames(dir, string(p.After), limit+1)
	if err != nil {
		return protocol.ListResult{}, Fail(op, clean, err)
	}
	result := protocol.ListResult{Path: []byte(clean), More: len(names) > limit}
	result.Entries, err = describeAll(int(dir.Fd()), clean, names[:min(limit, len(names))])
	return result, Fail(op, clean, err)
}

func (f *Files) openReadable(op, clean string) (*os.File, error) {
	at, err := f.locate(op, clean, true)
	if err != nil {
		return nil, err
	}
	defer at.close()
	fd, err := openat(at.dir, at.name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.ENOTDIR {
		return nil, refuse(protocol.ErrWrongType, op, clean, "not a directory; read it, or list the directory it is in")
	}
	if err != nil {
		return nil, Fail(op, clean, err)
	}
	if err := refuseOwn(fd); err != nil {
		unix.Close(fd)
		return nil, Fail(op, clean, err)
	}
	return os.NewFile(uintptr(fd), clean), nil
}

// firstNames gives the n names that sort first after the given one. It never
// holds more than a few times n.
func firstNames(dir *os.File, after string, n int) ([]string, error) {
	var names []string
	for {
		batch, err := dir.Readdirnames(1024)
		for _, name := range batch {
			if after == "" || name > after {
				names = append(names, name)
			}
		}
		if len(names) > 2*n+1024 || err != nil {
			slices.Sort(names)
			names = slices.Delete(names, min(n, len(names)), len(names))
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func describeAll(dir int, clean string, names []string) ([]protocol.FileInfo, error) {
	infos := make([]protocol.FileInfo, 0, len(names))
	for _, name := range names {
		info, err := describeAt(path.Join(clean, name), dir, name)
		if err == unix.ENOENT || err == unix.EINVAL { // gone, or no longer a link
			continue
		}
		if err != nil {
			return nil, err
		}
		info.Name = []byte(name)
		infos = append(infos, info)
	}
	return infos, nil
}
