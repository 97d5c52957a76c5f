package manager

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// listKind is what a list is of. A cursor is good for lists of its kind.
type listKind string

const (
	sandboxPages  listKind = "sandboxes"
	snapshotPages listKind = "snapshots"
	filePages     listKind = "files"
)

// window is a checked [schemas.Page].
type window struct {
	kind  listKind
	limit int
	after string // the key of the last item before; empty at the start
}

// checkPage reads limit and cursor. A cursor has the key of the last item that
// was given out: it stays good when that item is gone.
func checkPage(p schemas.Page, kind listKind, standard, most int) (window, error) {
	w := window{kind: kind, limit: p.Limit}
	if w.limit == 0 {
		w.limit = standard
	}
	if err := within("limit", int64(w.limit), 1, int64(most)); err != nil {
		return w, err
	}
	if p.Cursor == "" {
		return w, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || len(raw) <= cursorSum || !bytes.Equal(raw[:cursorSum], kind.sum(string(raw[cursorSum:]))) {
		return w, invalid("cursor is not one that this server gave out for a list of %s", kind).
			hint("Pass next_cursor of the page before as it was, or leave cursor out for the first page.")
	}
	w.after = string(raw[cursorSum:])
	return w, nil
}

// cursorSum is how many bytes before the key tell a cursor of ours from one that
// was made up. It is no secret: who makes one on purpose sees only their own.
const cursorSum = 6

func (k listKind) sum(key string) []byte {
	sum := sha256.Sum256([]byte("cursor of " + string(k) + "\x00" + key))
	return sum[:cursorSum]
}

func (k listKind) cursor(lastKey string) string {
	return base64.RawURLEncoding.EncodeToString(append(k.sum(lastKey), lastKey...))
}

// pageOf cuts a page from items, in the order of their keys, and gives the cursor
// of the next page, empty on the last. A key is made once of each item.
func pageOf[T any](items []T, key func(T) string, w window) (page []T, next string) {
	type place struct {
		key string
		at  int
	}
	var rest []place
	for i, item := range items {
		if k := key(item); k > w.after {
			rest = append(rest, place{k, i})
		}
	}
	slices.SortFunc(rest, func(a, b place) int { return strings.Compare(a.key, b.key) })
	n := min(w.limit, len(rest))
	page = make([]T, n) // never nil: lists are never null
	for i := range page {
		page[i] = items[rest[i].at]
	}
	if n < len(rest) {
		next = w.kind.cursor(rest[n-1].key)
	}
	return page, next
}
