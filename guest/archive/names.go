//go:build linux

package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// nameList holds the names of one directory compactly: a directory of 300 000
// files must fit beside the sandbox's programs.
type nameList struct {
	text []byte // names, a NUL after each
	at   []uint32
}

func (l *nameList) len() int { return len(l.at) }

func (l *nameList) bytes(i int) []byte { return l.from(l.at[i]) }

func (l *nameList) from(at uint32) []byte {
	name := l.text[at:]
	return name[:bytes.IndexByte(name, 0)]
}

// readNames reads a directory and sorts its names bytewise.
func readNames(ctx context.Context, dir int) (*nameList, error) {
	l := new(nameList)
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(dir, buf)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		l.add(buf[:n])
	}
	slices.SortFunc(l.at, func(a, b uint32) int { return bytes.Compare(l.from(a), l.from(b)) })
	return l, nil
}

// add takes the names out of what getdents64(2) gives: each entry has its
// length at byte 16 and its name from byte 19 up to a NUL.
func (l *nameList) add(entries []byte) {
	for len(entries) > 19 {
		size := binary.NativeEndian.Uint16(entries[16:])
		if size <= 19 || int(size) > len(entries) {
			return
		}
		name, _, _ := bytes.Cut(entries[19:size], []byte{0})
		if s := string(name); s != "." && s != ".." {
			l.at = append(l.at, uint32(len(l.text)))
			l.text = append(append(l.text, name...), 0)
		}
		entries = entries[size:]
	}
}
