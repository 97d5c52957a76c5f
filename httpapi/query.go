package httpapi

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// parameter is what a name means in a query, wherever it is known.
type parameter struct {
	typ, description string
	least, most      int // of a number; most is 0 where there is no bound
	oneOf            []string
}

// schema is the parameter's in OpenAPI.
func (p parameter) schema() object {
	s := object{"type": p.typ}
	if p.typ == "integer" || p.typ == "number" {
		s["minimum"] = p.least
	}
	if p.most > 0 {
		s["maximum"] = p.most
	}
	if len(p.oneOf) > 0 {
		s["enum"] = p.oneOf
	}
	return s
}

// kind is the parameter's in the manual.
func (p parameter) kind() string {
	switch {
	case len(p.oneOf) > 0:
		return "`" + strings.Join(p.oneOf, "` or `") + "`"
	case p.most > 0:
		return fmt.Sprintf("%s, %d to %d", p.typ, p.least, p.most)
	case p.typ == "integer":
		return fmt.Sprintf("%s, %d or more", p.typ, p.least)
	}
	return p.typ
}

// parameterOf is what a route takes by that name.
func parameterOf(r route, name string) parameter {
	p := parameters[name]
	if name == "limit" && r.path == sandbox+"/files/list" { // files are many
		p.most, p.description = 10000, "Most entries to return. Default 1000."
	}
	return p
}

// parameters is every query parameter there is.
var parameters = map[string]parameter{
	"path":             {typ: "string", description: "Absolute, or relative to /workspace. What writes must stay inside /workspace."},
	"path_base64":      {typ: "string", description: "The path's exact bytes in base64 (either alphabet), instead of path, for names that are not UTF-8."},
	"mode":             {typ: "string", description: "Permission bits in octal, as 755. By default an existing file keeps its own and a new one gets 644."},
	"recursive":        {typ: "boolean", description: "Delete a directory with all that is in it. Default false."},
	"limit":            {typ: "integer", least: 1, most: 1000, description: "Most entries to return. Default 100."},
	"cursor":           {typ: "string", description: "Where to go on: next_cursor of the page before; of a background exec, cursor of the answer before. By default the start, of a background exec that of what is kept."},
	"sandbox_id":       {typ: "string", description: "Only snapshots taken of this sandbox, which may be gone by now."},
	"image":            {typ: "string", description: "Image of the sandboxes that will be made from the snapshot. Default: the server's default image."},
	"exec_id":          {typ: "string", description: "The background exec to go back to, instead of starting a command."},
	"command":          {typ: "string", description: "Shell command line to run. Default: bash where the image has it, else sh."},
	"workdir":          {typ: "string", description: "Directory to run in. Default /workspace."},
	"term":             {typ: "string", description: "Type of your terminal, for TERM. Default xterm-256color."},
	"columns":          {typ: "integer", least: 1, most: 4096, description: "Width of the terminal. Default 80."},
	"rows":             {typ: "integer", least: 1, most: 4096, description: "Height of the terminal. Default 24."},
	"close":            {typ: "boolean", description: "End the standard input after this. Default false."},
	"encoding":         {typ: "string", oneOf: []string{"utf-8", "base64"}, description: "How output is written into JSON. Default utf-8, which replaces invalid bytes by U+FFFD."},
	"wait_seconds":     {typ: "number", most: 60, description: "How long to wait for output, or for the end, when there is nothing new. Default 0."},
	"max_output_bytes": {typ: "integer", description: "Most bytes of each stream; it can only lower the server's own cap."},
	"name":             {typ: "string", description: "A label for people; need not be unique. At most 128 characters."},
}

// parseQuery is as strict as the decoder of bodies: a parameter that is
// misspelt must not pass for one that was left out.
func parseQuery(raw string, known []string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("", "the query is malformed")
	}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return nil, invalid(shorten(name), "is not a known query parameter; there are none")
		case !slices.Contains(known, name):
			return nil, invalid(shorten(name), "is not a known query parameter; known are %s", strings.Join(known, ", "))
		case len(all) > 1:
			return nil, invalid(name, "is given %d times", len(all))
		}
	}
	return values, nil
}

// path is the path that the query names. Without one it is the standard, or
// with "" for that it is missing.
func (c *call) path(standard string) (string, error) {
	switch text, encoded := c.query.Has("path"), c.query.Has("path_base64"); {
	case text && encoded:
		return "", invalid("path", "must not be given together with path_base64")
	case encoded:
		return fromBase64("path_base64", c.query.Get("path_base64"))
	case text || standard != "":
		if !text {
			return standard, nil
		}
		return c.query.Get("path"), nil
	}
	return "", invalid("path", "is required")
}

// fromBase64 takes both alphabets, with padding or without: in a query the
// standard one is easily mistaken.
func fromBase64(field, s string) (string, error) {
	plain := strings.NewReplacer("-", "+", "_", "/", " ", "+").Replace(strings.TrimRight(s, "="))
	b, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		return "", invalid(field, "is not base64")
	}
	return string(b), nil
}

func (c *call) page() (p schemas.Page, err error) {
	p.Cursor = c.query.Get("cursor")
	if c.query.Has("limit") {
		p.Limit, err = strconv.Atoi(c.query.Get("limit"))
		if err != nil || p.Limit < 1 {
			return p, invalid("limit", "must be a whole number, at least 1")
		}
	}
	return p, nil
}

func (c *call) flag(name string) (bool, error) {
	switch c.query.Get(name) {
	case "true", "1":
		return true, nil
	case "false", "0", "":
		return false, nil
	}
	return false, invalid(name, "must be true or false")
}

// shorten keeps a caller's own text from flooding the answer.
func shorten(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
