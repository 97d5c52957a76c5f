// Package jsonedit changes one value in a JSON text and not a byte of the rest:
// order, formatting and numbers of what others wrote stay as they are.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Set is text with value at path, a list of names of members, making objects on
// the way that are missing. An empty text counts as {}. It is an error when the
// text is not plain JSON (comments are not), when its top or a value on the way is
// no object, or when a name on the way is there twice.
func Set(text []byte, path []string, value any) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	if err := check(text); err != nil {
		return nil, err
	}
	at, err := find(text, path)
	if err != nil {
		return nil, err
	}
	missing := path[at.depth:]
	for i := len(missing) - 1; i > 0; i-- {
		value = map[string]any{missing[i]: value}
	}
	indent := indentOf(text)
	if len(missing) == 0 {
		return splice(text, at.start, at.end, encoded(value, indent, len(path))), nil
	}
	depth := at.depth + 1
	member := encoded(missing[0], "", 0) + ": " + encoded(value, indent, depth)
	inner := bytes.TrimRight(text[at.start+1:at.end-1], " \t\r\n")
	before := "\n" + strings.Repeat(indent, depth)
	if len(bytes.TrimSpace(inner)) > 0 {
		before = "," + before
	}
	return splice(text, at.start+1+len(inner), at.end-1, before+member+"\n"+strings.Repeat(indent, depth-1)), nil
}

// Get decodes the value at path into v, and tells whether there is one.
func Get(text []byte, path []string, v any) (bool, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return false, nil
	}
	if err := check(text); err != nil {
		return false, err
	}
	at, err := find(text, path)
	if err != nil || at.depth < len(path) {
		return false, err
	}
	return true, json.Unmarshal(text[at.start:at.end], v)
}

func check(text []byte) error {
	var v any
	var syntax *json.SyntaxError
	err := json.Unmarshal(text, &v)
	switch {
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
		return fmt.Errorf("it is not plain JSON: line %d: %v", line, syntax)
	case err != nil:
		return err
	}
	if _, ok := v.(map[string]any); !ok {
		return errors.New("it is not a JSON object")
	}
	return nil
}

// span is where a value is, and how many names of the path lead to it.
type span struct{ start, end, depth int }

// find goes down path as far as there is one; what it finds before the end of the
// path is an object.
func find(text []byte, path []string) (span, error) {
	at := span{start: bytes.IndexByte(text, '{'), end: 1 + bytes.LastIndexByte(text, '}')}
	for at.depth < len(path) {
		next, found, err := member(text, at, path[at.depth])
		if err != nil || !found {
			return at, err
		}
		next.depth = at.depth + 1
		if next.depth < len(path) && text[next.start] != '{' {
			return at, fmt.Errorf("%s is not an object", strings.Join(path[:next.depth], "."))
		}
		at = next
	}
	return at, nil
}

// member is the value of a member of the object at a span.
func member(text []byte, at span, name string) (found span, ok bool, err error) {
	d := json.NewDecoder(bytes.NewReader(text[at.start:at.end]))
	if _, err := d.Token(); err != nil {
		return found, false, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return found, false, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return found, false, err
		}
		if key != name {
			continue
		}
		if ok {
			return found, false, fmt.Errorf("%s is there twice", name)
		}
		end := at.start + int(d.InputOffset())
		found, ok = span{start: end - len(value), end: end}, true
	}
	_, err = d.Token()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return found, ok, err
}

func splice(text []byte, start, end int, with string) []byte {
	return []byte(string(text[:start]) + with + string(text[end:]))
}

// encoded is a value as it stands at a depth.
func encoded(v any, indent string, depth int) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(strings.Repeat(indent, depth), indent)
	if err := e.Encode(v); err != nil {
		panic(err) // a value of ours that is none
	}
	return strings.TrimRight(b.String(), "\n")
}

// indentOf is what the first line that is indented begins with.
func indentOf(text []byte) string {
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && len(bytes.TrimSpace(rest)) > 0 {
			return string(line[:n])
		}
	}
	return "  "
}
