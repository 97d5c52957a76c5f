//go:build linux

package files

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

const (
	maxPath = 4096 // PATH_MAX
	maxName = 255  // NAME_MAX
	maxShow = 512  // of a path in a message
)

// parse checks a path from outside and gives its normal form. Names are bytes:
// only what no file system can store is refused.
func parse(op string, raw []byte) (string, error) {
	name := string(raw)
	switch {
	case name == "":
		return "", refuse(protocol.ErrInvalid, op, name, "the path is empty")
	case strings.IndexByte(name, 0) >= 0:
		return "", refuse(protocol.ErrInvalid, op, name, "the path contains a NUL byte")
	case len(name) > maxPath:
		return "", refuse(protocol.ErrInvalid, op, name, "the path is longer than 4096 bytes")
	case name[0] != '/':
		return "", refuse(protocol.ErrInvalid, op, name, "the path is not absolute")
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxName {
			return "", refuse(protocol.ErrInvalid, op, name, "a name in the path is longer than 255 bytes")
		}
	}
	return path.Clean(name), nil
}

// parseInside is parse for a path that is about to be changed: it must lie in
// the workspace. It returns the path and its part below the workspace.
func parseInside(op string, raw []byte) (clean, below string, err error) {
	clean, err = parse(op, raw)
	if err != nil {
		return "", "", err
	}
	below, ok := under(protocol.Workspace, clean)
	if !ok {
		return "", "", refuse(protocol.ErrEscapes, op, clean,
			"outside "+protocol.Workspace+", the only place that may be changed this way")
	}
	return clean, below, nil
}

// under gives the part of clean below base. It compares whole components, so
// /workspace-evil is not under /workspace.
func under(base, clean string) (string, bool) {
	if clean == base {
		return "", true
	}
	return strings.CutPrefix(clean, base+"/")
}

// real is where clean is on this machine.
func (f *Files) real(clean string) string {
	if below, ok := under(protocol.Workspace, clean); ok {
		return path.Join(f.dir, below)
	}
	return clean
}

// split gives the components of a path, without the empty ones and ".".
func split(name string) []string {
	parts := strings.Split(name, "/")
	keep := parts[:0]
	for _, part := range parts {
		if part != "" && part != "." {
			keep = append(keep, part)
		}
	}
	return keep
}

// namesDirectory says whether raw can only mean a directory.
func namesDirectory(raw []byte) bool {
	name := string(raw)
	return strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/.") || strings.HasSuffix(name, "/..")
}

// Show makes a name of any bytes fit for a message: as it is when it is plain
// text, quoted when it is not.
func Show(name string) string {
	if len(name) > maxShow {
		return strconv.Quote(name[:maxShow]) + "…"
	}
	plain := utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
	if name == "" || !plain {
		return strconv.Quote(name)
	}
	return name
}
