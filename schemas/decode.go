package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A DecodeError lists everything that is wrong with a request, so that a caller
// can mend it in one go.
type DecodeError struct {
	Problems []Problem
}

// A Problem is one mistake. Field is empty when the whole request is at fault.
type Problem struct {
	Field   string
	Text    string
	Unknown bool // there is no such field
}

func (e *DecodeError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = strings.TrimPrefix(p.Field+": "+p.Text, ": ")
	}
	return strings.Join(texts, "; ")
}

// A validator is a field type that knows more than its JSON type, as [SandboxID].
type validator interface{ Validate() error }

// Decode reads a JSON object into v, a pointer to a struct. It is strict where
// encoding/json is not: unknown and missing fields, wrong types, letter case and
// trailing data are errors, which name the field and what was expected. A field
// is required when its tag has no omitempty. A null is an absent field, since
// many clients write out every optional one. Ranges are the manager's to check.
func Decode(data []byte, v any) error {
	return decode(data, v, func(raw json.RawMessage, _ field, _ reflect.Type) json.RawMessage { return raw })
}

// decode passes what is there for a field through loosen.
func decode(data []byte, v any, loosen func(json.RawMessage, field, reflect.Type) json.RawMessage) error {
	members, err := object(data)
	if err != nil {
		return &DecodeError{[]Problem{{Text: err.Error()}}}
	}
	target := reflect.ValueOf(v).Elem()
	fields := fieldsOf(target.Type())
	problems := unknown(members, fields)
	for _, f := range fields {
		raw := members[f.name]
		if len(raw) > 0 {
			raw = loosen(raw, f, target.FieldByIndex(f.index).Type())
		}
		if text := f.decode(raw, target); text != "" {
			problems = append(problems, Problem{Field: f.name, Text: text})
		}
	}
	if len(problems) > 0 {
		return &DecodeError{problems}
	}
	return nil
}

func object(data []byte) (map[string]json.RawMessage, error) {
	var syntax *json.SyntaxError
	var members map[string]json.RawMessage
	switch err := json.Unmarshal(data, &members); {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("must be a JSON object, got nothing")
	case !utf8.Valid(data):
		return nil, fmt.Errorf("must be JSON in UTF-8; at byte %d it is something else", validUTF8(data)+1)
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("must be one JSON object; at byte %d: %v", syntax.Offset, syntax)
	case err != nil || members == nil:
		return nil, fmt.Errorf("must be a JSON object, got %s", jsonKind(data))
	}
	return members, nil
}

// validUTF8 is how much of data is UTF-8. encoding/json would put U+FFFD for the
// rest, and a path or a file's content would be another than was sent.
func validUTF8(data []byte) (n int) {
	for n < len(data) {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

func unknown(members map[string]json.RawMessage, fields []field) (problems []Problem) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(names, name) {
			text := "is not a known field; known are " + strings.Join(names, ", ")
			if m := meant(name, names); m != "" {
				text = "is not a known field; did you mean " + m + "? Known are " + strings.Join(names, ", ")
			}
			if len(names) == 0 {
				text = "is not a known field; there are none"
			}
			problems = append(problems, Problem{Field: shorten(name), Text: text, Unknown: true})
		}
	}
	return problems[:min(len(problems), 5)]
}

// field is one member of a request, promoted through embedded structs.
type field struct {
	name     string
	required bool
	index    []int
}

func fieldsOf(t reflect.Type) (fields []field) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			fields = append(fields, field{name, !strings.Contains(options, "omitempty"), f.Index})
		}
	}
	return fields
}

// decode returns what is wrong with raw, "" when nothing is.
func (f field) decode(raw json.RawMessage, target reflect.Value) string {
	if len(raw) == 0 || jsonKind(raw) == "null" {
		if f.required {
			return "is required"
		}
		return ""
	}
	into := target.FieldByIndex(f.index)
	if err := json.Unmarshal(raw, into.Addr().Interface()); err != nil && !wholeNumber(raw, into) {
		return mismatch(err, raw, into.Type())
	}
	if v, ok := into.Interface().(validator); ok {
		if err := v.Validate(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// wholeNumber stores a number like 30.0, which is an integer to JSON Schema and
// to languages with one kind of number, but not to encoding/json.
func wholeNumber(raw []byte, into reflect.Value) bool {
	if into.Kind() == reflect.Pointer {
		if into.IsNil() {
			into.Set(reflect.New(into.Type().Elem()))
		}
		into = into.Elem()
	}
	n, err := strconv.ParseFloat(string(bytes.TrimSpace(raw)), 64)
	if err != nil || !into.CanInt() || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return false
	}
	into.SetInt(int64(n))
	return true
}

// mismatch words a failure of encoding/json without its Go types.
func mismatch(err error, raw []byte, t reflect.Type) string {
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) {
		return err.Error() // from an UnmarshalJSON of ours
	}
	return fmt.Sprintf("must be %s, got %s", expected(t), found(raw, t))
}

// found shows what is there instead: in a map or list, the first wrong element.
// What a map holds, and what stands for one, is not repeated: it is an environment,
// and may be secret.
func found(raw []byte, t reflect.Type) string {
	kind := jsonKind(raw)
	switch {
	case t.Kind() == reflect.Map && kind == "an object":
		var members map[string]json.RawMessage
		_ = json.Unmarshal(raw, &members)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if !fits(members[name], t.Elem()) {
				return fmt.Sprintf("%s for %s", strings.Replace(jsonKind(members[name]), "number", "a number", 1), shorten(name))
			}
		}
	case t.Kind() == reflect.Map:
		return strings.Replace(kind, "number", "a number", 1)
	case kind == "number", kind == "a string" && t.Kind() != reflect.String:
		return shorten(string(bytes.TrimSpace(raw)))
	case t.Kind() == reflect.Slice && kind == "an array":
		var elements []json.RawMessage
		_ = json.Unmarshal(raw, &elements)
		for i, e := range elements {
			if !fits(e, t.Elem()) {
				return fmt.Sprintf("%s at position %d", found(e, t.Elem()), i)
			}
		}
	}
	return kind
}

func fits(raw []byte, t reflect.Type) bool {
	return json.Unmarshal(raw, reflect.New(t).Interface()) == nil
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array, each element " + expected(t.Elem())
	case reflect.Map:
		return "an object, each value " + expected(t.Elem())
	default:
		return "an object"
	}
}

func jsonKind(raw []byte) string {
	switch bytes.TrimSpace(raw)[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return string(bytes.TrimSpace(raw))
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// shorten keeps a caller's own text from flooding the answer.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
