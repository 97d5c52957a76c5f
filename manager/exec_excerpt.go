package manager

import (
	"encoding/base64"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// excerpt is a part of one stream of a command that goes on, or did.
type excerpt struct {
	start int64 // offset of its first byte
	raw   []byte
	total int64 // bytes of the stream so far
	final bool  // nothing will be added to the stream
}

func newExcerpt(start int64, raw []byte, total int64, final bool) excerpt {
	return excerpt{start, raw, max(sane(total), start+int64(len(raw))), final}
}

func (e excerpt) end() int64 { return e.start + int64(len(e.raw)) }

// complete: all that there is of the stream, for now.
func (e excerpt) complete() bool { return e.end() == e.total }

// held is how many bytes at the end begin a character that is not there yet.
func (e excerpt) held() int {
	if e.final && e.complete() {
		return 0
	}
	d := NewTextDecoder()
	d.Decode(e.raw[max(0, len(e.raw)-3):])
	return len(d.pending)
}

// heldAtEnd is held when what follows is not there yet.
func (e excerpt) heldAtEnd() int {
	if !e.complete() {
		return 0
	}
	return e.held()
}

// render puts as much into a JSON string as fits, at least one character, and
// tells where to go on. A character that is not complete is left for later.
func (e excerpt) render(limit int64, encoding schemas.Encoding) (text string, next int64) {
	switch {
	case limit == 0:
		return "", e.start
	case encoding == schemas.EncodingBase64:
		raw := e.raw[:min(int64(len(e.raw)), limit)]
		return base64.StdEncoding.EncodeToString(raw), e.start + int64(len(raw))
	}
	raw, whole := e.raw, e.final && e.complete()
	for {
		d := NewTextDecoder()
		text = d.Decode(raw)
		used := len(raw) - len(d.pending)
		if whole {
			text, used = text+d.Flush(), len(raw)
		}
		if int64(len(text)) <= limit || len(raw) <= maxRune {
			return text, e.start + int64(used)
		}
		// Only bytes that are no text grow, and none to more than three.
		raw, whole = raw[:max(maxRune, min(limit/3, int64(len(raw))-1))], false
	}
}

// maxRune is how many bytes a character has at most.
const maxRune = 4
