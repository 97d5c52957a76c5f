package manager

import (
	"encoding/base64"
	"sort"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// window is a checked [schemas.Page].
type window struct {
	limit int
	after string // the key of the last item before; empty at the start
}

// checkPage reads limit and cursor. A cursor is the key of the last item that
// was given out: it stays good when that item is gone.
func checkPage(p schemas.Page, standard, most int) (window, error) {
	w := window{limit: p.Limit}
	if w.limit == 0 {
		w.limit = standard
	}
	if err := within("limit", int64(w.limit), 1, int64(most)); err != nil {
		return w, err
	}
	after, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil {
		return w, invalid("cursor is not one that this server gave out; leave it out for the first page")
	}
	w.after = string(after)
	return w, nil
}

func cursor(lastKey string) string { return base64.RawURLEncoding.EncodeToString([]byte(lastKey)) }

// pageOf cuts a page from items in the order of their keys, and gives the
// cursor of the next page, empty on the last.
func pageOf[T any](items []T, key func(T) string, w window) (page []T, next string) {
	sort.Slice(items, func(i, j int) bool { return key(items[i]) < key(items[j]) })
	from := sort.Search(len(items), func(i int) bool { return key(items[i]) > w.after })
	to := min(from+w.limit, len(items))
	page = append([]T{}, items[from:to]...) // never nil: lists are never null
	if to < len(items) {
		next = cursor(key(items[to-1]))
	}
	return page, next
}
