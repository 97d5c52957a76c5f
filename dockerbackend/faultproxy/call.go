package faultproxy

import (
	"net/http"
	"regexp"
	"strings"
)

// Call names one of Docker's calls, without what it is made for: "POST
// /containers/create", "DELETE /volumes/{}".
type Call string

var version = regexp.MustCompile(`^/v[0-9.]+/`)

// fixed are path elements that are no name of anything.
var fixed = map[string]bool{"create": true, "json": true, "prune": true}

// callOf reduces a request to its call. The name of an image may have slashes.
func callOf(r *http.Request) Call {
	kind, rest, _ := strings.Cut(version.ReplaceAllString(r.URL.Path, "/")[1:], "/")
	path := "/" + kind
	switch verb := rest[strings.LastIndex(rest, "/")+1:]; {
	case rest == "":
	case fixed[rest]:
		path += "/" + rest
	case verb != rest && verbs[verb]:
		path += "/{}/" + verb
	default:
		path += "/{}"
	}
	return Call(r.Method + " " + path)
}

// verbs are path elements that say what is to be done with a thing.
var verbs = map[string]bool{
	"json": true, "start": true, "rename": true, "update": true, "restart": true, "stop": true, "kill": true, "attach": true, "archive": true,
}
