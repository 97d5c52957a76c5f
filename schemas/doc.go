// Package schemas is what passes through both doors, MCP tools and the /v1 HTTP
// API: request and result types, identifiers, the error body, and the JSON
// Schemas made from them. It imports nothing of ours, and every name and shape
// a client sees is written here once.
//
// JSON conventions: field names are snake_case; times are RFC 3339 in UTC; a
// pointer field is null (REST) or left out (MCP) when there is nothing to say;
// lists are never null.
package schemas
