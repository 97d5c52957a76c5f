//go:build linux

package files

import "github.com/mcp-sandbox/mcp-sandbox/guest/protocol"

// Stat describes a path, a link as a link.
func (f *Files) Stat(p protocol.StatParams) (protocol.FileInfo, error) {
	const op = "stat"
	clean, err := parse(op, p.Path)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	at, err := f.locate(op, clean, false)
	if err != nil {
		return protocol.FileInfo{}, err
	}
	defer at.close()
	info, err := describeAt(clean, at.dir, at.name)
	return info, Fail(op, clean, err)
}
