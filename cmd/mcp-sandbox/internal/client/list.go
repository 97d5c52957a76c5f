package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// maxPages bounds a list whose server always says that there is more.
const maxPages = 1000

// list gets all pages of a list under /v1. Each page has the entries under the
// list's name.
func list[T any](ctx context.Context, c *Client, name string, query url.Values) (all []Answer[T], err error) {
	if query == nil {
		query = url.Values{}
	}
	for range maxPages {
		page, err := ask[map[string]json.RawMessage](ctx, c, request{method: http.MethodGet, path: "/v1/" + name, query: query})
		if err != nil {
			return nil, err
		}
		if all, err = appendEntries(all, page.Value[name]); err != nil {
			return nil, strange("a list is not what it should be: " + err.Error())
		}
		cursor := ""
		_ = json.Unmarshal(page.Value["next_cursor"], &cursor)
		if cursor == "" {
			return all, nil
		}
		query.Set("cursor", cursor)
	}
	return nil, strange("a list does not end")
}

func appendEntries[T any](all []Answer[T], data []byte) ([]Answer[T], error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		return all, err
	}
	for _, raw := range entries {
		a := Answer[T]{JSON: raw}
		if err := json.Unmarshal(raw, &a.Value); err != nil {
			return all, err
		}
		all = append(all, a)
	}
	return all, nil
}
