package client

import (
	"bytes"
	"encoding/json"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// decode reads one JSON value into answer and checks what it says.
func decode(text []byte, answer any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(answer); err != nil {
		return malformed("%v", err)
	}
	if d.More() {
		return malformed("more than one JSON value")
	}
	switch a := answer.(type) {
	case *protocol.FileInfo:
		return checkInfo(a)
	case *protocol.ListResult:
		return checkList(a)
	case *protocol.ArchiveStats:
		return checkStats(a)
	}
	return nil
}

func checkInfo(i *protocol.FileInfo) error {
	switch i.Type {
	case protocol.TypeFile, protocol.TypeDirectory, protocol.TypeSymlink, protocol.TypeOther:
	default:
		return malformed("file type of %d bytes", len(i.Type))
	}
	if i.Size < 0 || i.Mode&^0o7777 != 0 {
		return malformed("size %d, mode %o", i.Size, i.Mode)
	}
	return nil
}

func checkList(l *protocol.ListResult) error {
	for i := range l.Entries {
		if err := checkInfo(&l.Entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkStats(s *protocol.ArchiveStats) error {
	if s.Bytes < 0 || s.Files < 0 {
		return malformed("archive totals below zero")
	}
	return nil
}

// plausibleList keeps a small text from becoming an enormous list: "null,null,"
// takes five bytes an entry and its decoded form more than a hundred. No honest
// entry has more than eight members, and no value in it has a comma.
func plausibleList(text []byte, limit int) error {
	if commas := bytes.Count(text, []byte{','}); commas > 8*(limit+1) {
		return malformed("more entries than the %d asked for", limit)
	}
	return nil
}
