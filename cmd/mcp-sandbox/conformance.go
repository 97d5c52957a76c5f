//go:build conformance

package main

import "github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/conformance"

func init() { extend = conformance.Add }
