package schemas

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// DecodeArgs is [Decode] for what a model wrote: it also takes a value in another
// form where only one thing can be meant. Models, and the programs between them and
// a tool, put numbers, booleans, arrays and objects into strings, numbers and
// booleans where all values are strings, and empty strings where there is nothing.
func DecodeArgs(data []byte, v any) error { return decode(data, v, loosen) }

// loosen is raw in the form that t takes, where it has that meaning and no other;
// nil where it means nothing at all.
func loosen(raw json.RawMessage, f field, t reflect.Type) json.RawMessage {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if jsonKind(raw) != "a string" {
		return stringsIn(raw, t)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	if text = strings.TrimSpace(text); text == "" && !f.required && (t.Kind() != reflect.String || isValidator(t)) && t != commandType {
		return nil
	}
	if inner := fromText(text, t); inner != nil {
		return inner
	}
	return raw
}

var commandType = reflect.TypeFor[CommandArg]()

func isValidator(t reflect.Type) bool { return t.Implements(reflect.TypeFor[validator]()) }

// fromText is the value that a string holds as text; nil when it holds none of
// type t.
func fromText(text string, t reflect.Type) json.RawMessage {
	inner := json.RawMessage(text)
	switch {
	case t.Kind() == reflect.Bool:
		if lower := strings.ToLower(text); lower == "true" || lower == "false" {
			return json.RawMessage(lower)
		}
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64 || t.Kind() == reflect.Float64:
		if json.Valid(inner) && jsonKind(inner) == "number" {
			return inner
		}
	case t == commandType: // no shell command is a JSON array
		var argv []string
		if json.Unmarshal(inner, &argv) == nil && len(argv) > 0 {
			return inner
		}
	case t.Kind() == reflect.Slice && strings.HasPrefix(text, "["), t.Kind() == reflect.Map && strings.HasPrefix(text, "{"):
		if inner = stringsIn(inner, t); fits(inner, t) {
			return inner
		}
	}
	return nil
}

// stringsIn writes the numbers and booleans in a list or map of strings as such.
func stringsIn(raw json.RawMessage, t reflect.Type) json.RawMessage {
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return raw
		}
		for i := range elements {
			elements[i] = asString(elements[i])
		}
		return remade(elements, raw)
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.String:
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return raw
		}
		for name := range members {
			members[name] = asString(members[name])
		}
		return remade(members, raw)
	}
	return raw
}

// asString quotes a number or boolean, as it was written.
func asString(raw json.RawMessage) json.RawMessage {
	switch jsonKind(raw) {
	case "number", "true", "false":
		return json.RawMessage(`"` + string(bytes.TrimSpace(raw)) + `"`)
	}
	return raw
}

func remade(v any, otherwise json.RawMessage) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil || string(b) == "null" {
		return otherwise
	}
	return b
}
