package manager

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// fileInfo shows a file to clients. Names are bytes, and JSON strings are not:
// one that is not UTF-8 is shown with U+FFFD, and exactly in base64 beside it.
func fileInfo(f File) schemas.FileInfo {
	info := schemas.FileInfo{
		Type: f.Type, Size: f.Size, Mode: formatMode(f.Mode),
		ModifiedAt: f.ModTime.UTC(), LinkTarget: showText(f.LinkTarget),
	}
	info.Name, info.NameBase64 = showBytes(f.Name)
	info.Path, info.PathBase64 = showBytes(f.Path)
	return info
}

func showBytes(s string) (text, encoded string) {
	if utf8.ValidString(s) {
		return s, ""
	}
	return showText(s), base64.StdEncoding.EncodeToString([]byte(s))
}

func showText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
