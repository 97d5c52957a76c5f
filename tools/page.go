package tools

import (
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// listed fetches a page that a client will show in full, with its text. The
// weight of entries is known only when they are there; then a smaller page is
// fetched, since only its maker can say where the next one goes on.
func listed[T any](in schemas.PageArgs, usual int, text func(T) string, fetch func(schemas.Page) (T, error)) (page T, _ string, err error) {
	limit, err := within("limit", in.Limit, usual, 1, 1000)
	if err != nil {
		return page, "", err
	}
	for {
		page, err = fetch(schemas.Page{Limit: limit, Cursor: in.Cursor})
		if err != nil {
			return page, "", err
		}
		content, err := schemas.Result(page)
		if err != nil {
			return page, "", err
		}
		t := text(page)
		weight := len(content) + jsonLen(t)
		if weight <= listChars || limit == 1 {
			return page, t, nil
		}
		limit = max(1, min(limit/2, limit*listChars/weight))
	}
}
