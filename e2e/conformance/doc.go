// Package conformance holds the server against what others wrote: the official MCP
// conformance suite and inspector, and the clients of the TypeScript SDKs and of
// mcp-go, each of which does an agent's whole session on a real Docker daemon.
//
// The tests need Node.js, so they are behind a build tag and have a target of their
// own: make conformance. What they found, and what they are expected not to pass, is
// in docs/mcp-conformance.md.
package conformance
