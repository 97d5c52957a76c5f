// Package local is the local socket of the server that holds a data directory:
// how a process of the same user on the same machine finds it, and what is said
// over it.
//
// What listens is an HTTP server. It serves the whole /v1 API, without a key, as
// who can open the socket is the user whose server it is ([Client]); and it turns
// a connection into a stream of bytes over which MCP is spoken ([Connect]). Every
// answer names the server ([About]).
//
//	c := local.Client(dataDir)
//	resp, err := c.Get(local.BaseURL + "/v1/sandboxes")
//	if errors.Is(err, local.ErrNone) {
//		// no server runs on this directory
//	}
//
// The socket is in a directory of its own, mode 0700, in the data directory, or
// where that cannot hold one (a path is limited to some 100 bytes, and not every
// file system has sockets), elsewhere, and the data directory says where: see
// place.go. Only who holds the lock on the data directory may [Listen].
package local

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
)

// BaseURL begins the URLs that [Client] is asked for. The host means nothing.
const BaseURL = "http://localhost"

// ErrNone is the cause of the errors that say that nobody listens.
var ErrNone = errors.New("no server listens on the local socket")

// About is the server that holds the data directory.
type About struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // "serve" or "stdio"
	Version string `json:"version"`
}

// aboutHeader is in every answer. Its value is an About as JSON.
const aboutHeader = "Mcp-Sandbox-Server"

// Of is this process, serving by a command.
func Of(command, version string) About { return About{os.Getpid(), command, version} }

// From reads who answered from the header of an answer.
func From(h http.Header) (a About, ok bool) {
	return a, json.Unmarshal([]byte(h.Get(aboutHeader)), &a) == nil
}

func (a About) header() string {
	b, _ := json.Marshal(a) // never fails: a number and two strings
	return string(b)
}
