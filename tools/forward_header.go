package tools

import (
	"bytes"
	"encoding/json"
)

// header is what a [Forwarder] has to know of a message. The rest, which may be
// long, is not copied.
type header struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		ProgressToken json.RawMessage `json:"progressToken"` // of a progress notification
		RequestID     json.RawMessage `json:"requestId"`     // of a cancellation
	} `json:"params"`
}

// readHeader takes what it can: what is wrong with a message the server will say.
func readHeader(line []byte) (h header) {
	_ = json.Unmarshal(line, &h)
	return h
}

// readWhole is readHeader for a line that may be a part of one.
func readWhole(line []byte) (h header, whole bool) {
	whole = line[len(line)-1] == '\n' || json.Valid(line)
	if whole {
		h = readHeader(line)
	}
	return h, whole
}

func (h header) hasID() bool      { return len(h.ID) > 0 && string(h.ID) != "null" }
func (h header) isRequest() bool  { return h.hasID() && h.Method != "" }
func (h header) isResponse() bool { return h.hasID() && h.Method == "" }

// key is an ID or token such that those that mean the same are the same, however
// they are written: what comes back was decoded and encoded on its way.
func key(id json.RawMessage) string {
	var v any
	if rounded(id) {
		return string(bytes.TrimSpace(id))
	}
	if json.Unmarshal(id, &v) != nil {
		return string(bytes.TrimSpace(id))
	}
	b, _ := json.Marshal(v) // never fails: it was JSON
	return string(b)
}
