package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// OpenAPI is the document that describes every route, as JSON. It is made from
// the table that serves them.
func OpenAPI() []byte { return bytes.Clone(openAPIDocument()) }

// object is a JSON object; its members come out in the order of their names.
type object = map[string]any

var openAPIDocument = sync.OnceValue(func() []byte {
	components := schemas.Components{}
	paths := object{}
	for _, r := range routes {
		item, ok := paths[r.path].(object)
		if !ok {
			item = object{}
			paths[r.path] = item
		}
		item[strings.ToLower(r.method)] = operation(r, components)
	}
	schemas.Reference[schemas.ErrorBody](components)
	b, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info":    object{"title": "mcp-sandbox", "version": "1", "description": about},
		"paths":   paths,
		"components": object{
			"schemas":   components,
			"responses": failures(),
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer"},
				"apiKey": object{"type": "apiKey", "in": "header", "name": "X-API-Key"},
			},
		},
		"security": []any{object{"bearer": []any{}}, object{"apiKey": []any{}}},
	}, "", "  ")
	if err != nil {
		panic(err) // nothing in it depends on anybody
	}
	return append(b, '\n')
})

const about = `Isolated sandboxes to run code in: create one, run commands, save its /workspace as a snapshot, roll back, or fork it.

Every path answers HEAD where it has GET, and OPTIONS. Bodies and queries are strict: what is unknown or of the wrong type is refused by name. Times are RFC 3339 in UTC. Every failure has the same shape, {"error":{"code","message","hint","retryable"}}; the codes are stable. Every answer has an X-Request-Id.`

func operation(r route, components schemas.Components) object {
	op := object{
		"operationId": operationID(r),
		"summary":     r.summary,
		"responses":   responses(r, components),
	}
	if p := parametersOf(r); len(p) > 0 {
		op["parameters"] = p
	}
	if r.body.mediaType != "" {
		op["requestBody"] = object{"required": !r.body.optional && r.body.schema != nil, "content": media(r.body, components)}
	}
	if free(r.path) {
		op["security"] = []any{}
	}
	return op
}

// operationID is made of the path, so that it is as stable as that is.
func operationID(r route) string {
	words := strings.FieldsFunc(strings.TrimPrefix(r.path, "/v1"), func(c rune) bool { return strings.ContainsRune("/{}.", c) })
	return strings.ToLower(r.method) + "_" + strings.Join(words, "_")
}

func media(c content, components schemas.Components) object {
	schema := any(object{})
	switch {
	case c.schema != nil:
		schema = c.schema(components)
	case c.mediaType == text.mediaType:
		schema = object{"type": "string"}
	}
	return object{c.mediaType: object{"schema": schema}}
}

func responses(r route, components schemas.Components) object {
	all := object{}
	for _, a := range answersOf(r) {
		described := object{"description": a.description}
		if a.content.mediaType != "" {
			described["content"] = media(a.content, components)
		}
		all[strconv.Itoa(a.status)] = described
	}
	for _, status := range failuresOf(r) {
		all[strconv.Itoa(status)] = object{"$ref": fmt.Sprintf("#/components/responses/%d", status)}
	}
	return all
}
