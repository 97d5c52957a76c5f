package httpapi

import (
	"encoding/json"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// content is what a request or a response carries.
type content struct {
	mediaType string // "" for nothing
	schema    func(schemas.Components) json.RawMessage
	optional  bool // the body may be left out
}

// of is JSON of a type.
func of[T any]() content {
	return content{mediaType: "application/json", schema: schemas.Reference[T]}
}

// optional is JSON that may be left out: it has no required field.
func optional[T any]() content {
	c := of[T]()
	c.optional = true
	return c
}

var (
	none     = content{}
	octets   = content{mediaType: "application/octet-stream"}
	tarball  = content{mediaType: "application/x-tar"}
	text     = content{mediaType: "text/plain"}
	document = content{mediaType: "application/json"}

	// events are lines, each of which is one event.
	events = content{mediaType: "application/x-ndjson", schema: func(c schemas.Components) json.RawMessage {
		return schemas.OneOf(c, "ExecEvent",
			schemas.Reference[schemas.OutputEvent](c), schemas.Reference[schemas.ExitEvent](c), schemas.Reference[schemas.ErrorEvent](c))
	}}

	// forked is one sandbox, or with count a list.
	forked = content{mediaType: "application/json", schema: func(c schemas.Components) json.RawMessage {
		return schemas.OneOf(c, "Forked", schemas.Reference[schemas.Sandbox](c), schemas.Reference[schemas.ForkResult](c))
	}}
)
