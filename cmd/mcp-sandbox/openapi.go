package main

import (
	"github.com/mcp-sandbox/mcp-sandbox/httpapi"
)

type openapiCmd struct{}

// Run prints the document that describes the HTTP API.
func (openapiCmd) Run(e *env) error {
	_, err := e.stdout.Write(httpapi.OpenAPI())
	return err
}
