// Package endpoints lists the calls that the server makes of Docker's API, for
// those who put a filter between the two. docs/socket-proxy.md and the
// configurations beside it hold the same list; a test keeps them so.
package endpoints

import (
	"regexp"
	"strings"
)

// Endpoint is one call.
type Endpoint struct {
	Method string
	// Path comes after the version. {name} stands for one element, {image} for the
	// name of an image, which may have slashes.
	Path string
	Why  string
}

// All is the whole list. A filter that denies any other call takes nothing from the
// server but the look at Docker's settings (GET /info), with which doctor and the
// start find out early that a runtime is missing.
var All = []Endpoint{
	{"HEAD", "/_ping", "which version of the API to speak"},
	{"GET", "/_ping", "likewise"},
	{"GET", "/version", "what Docker it is, and on what hardware"},
	{"POST", "/containers/create", "make a sandbox, and the container of which an image is prepared"},
	{"GET", "/containers/json", "find the server's own after a start"},
	{"GET", "/containers/{name}/json", "how a sandbox is"},
	{"POST", "/containers/{name}/start", "start it"},
	{"POST", "/containers/{name}/restart", "start it again"},
	{"POST", "/containers/{name}/rename", "give a spare one to a sandbox"},
	{"POST", "/containers/{name}/update", "and the sandbox's limits to it"},
	{"POST", "/containers/{name}/attach", "the stream to the guest, by which all work is done"},
	{"HEAD", "/containers/{name}/archive", "what an image has at a path"},
	{"GET", "/containers/{name}/archive", "its users and groups"},
	{"PUT", "/containers/{name}/archive", "put the guest into it"},
	{"DELETE", "/containers/{name}", "remove it"},
	{"POST", "/commit", "keep the prepared image"},
	{"POST", "/volumes/create", "make a workspace"},
	{"GET", "/volumes", "find the server's own"},
	{"GET", "/volumes/{name}", "whether it is there still"},
	{"DELETE", "/volumes/{name}", "remove it"},
	{"GET", "/images/json", "find prepared images that nobody uses"},
	{"GET", "/images/{image}/json", "what an image is"},
	{"POST", "/images/create", "pull one; not needed if all are there"},
	{"DELETE", "/images/{image}", "remove prepared images"},
	{"GET", "/networks/{name}", "the network of sandboxes that may have one"},
	{"GET", "/networks", "find a second one of its name, which two servers may have made"},
	{"POST", "/networks/create", "make it"},
	{"DELETE", "/networks/{name}", "remove it when it is not used"},
}

// Pattern is a regular expression for the whole path of a request, in the syntax
// that Go, PCRE and POSIX (extended) share.
func (e Endpoint) Pattern() string {
	path := strings.NewReplacer(".", `\.`, "{name}", "[^/]+", "{image}", ".+").Replace(e.Path)
	return `^(/v[0-9.]+)?` + path + `$`
}

// Allowed tells whether a call is on the list.
func Allowed(method, path string) bool {
	for _, e := range All {
		if e.Method == method && patterns[e].MatchString(path) {
			return true
		}
	}
	return false
}

var patterns = func() map[Endpoint]*regexp.Regexp {
	all := map[Endpoint]*regexp.Regexp{}
	for _, e := range All {
		all[e] = regexp.MustCompile(e.Pattern())
	}
	return all
}()
