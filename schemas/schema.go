package schemas

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// InputSchema is the JSON Schema of a tool's arguments, in the dialect that
// every model provider takes: one flat object, no references, no unions, no
// lists of types. One tool outside it makes some clients refuse the whole list.
// describe, if any, has the last word on what is said of an argument.
func InputSchema[T any](describe ...func(name, text string) string) json.RawMessage {
	s := reflectSchema[T]()
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		for _, d := range describe {
			p.Value.Description = d(p.Key, p.Value.Description)
		}
	}
	return render(s)
}

// OutputSchema is the JSON Schema of what [Result] makes of a T. It is for programs
// that check results, so it says nothing in words; and it allows for more fields
// than there are today, since clients keep schemas that they have read.
func OutputSchema[T any]() json.RawMessage {
	s := reflectSchema[T]()
	pointersAreOptional(reflect.TypeFor[T](), s)
	bare(s)
	return render(s)
}

func reflectSchema[T any]() *jsonschema.Schema {
	r := jsonschema.Reflector{
		Anonymous:      true, // no $id made from the package path
		DoNotReference: true,
		ExpandedStruct: true, // the struct itself at the top, not a reference to it
	}
	s := r.Reflect(new(T))
	s.Version = "" // MCP's default dialect is the one that it names
	propertiesEverywhere(s)
	return s
}

// propertiesEverywhere gives free-form objects an empty list of properties:
// OpenAI rejects an object without one.
func propertiesEverywhere(s *jsonschema.Schema) {
	if s.Type == "object" && s.Properties == nil {
		s.Properties = jsonschema.NewProperties()
	}
	if s.Items != nil {
		propertiesEverywhere(s.Items)
	}
	if s.Properties == nil {
		return
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		propertiesEverywhere(p.Value)
	}
}

func bare(s *jsonschema.Schema) {
	if s.Description = ""; s.Type == "object" {
		s.AdditionalProperties = nil
	}
	if s.Items != nil {
		bare(s.Items)
	}
	if s.Properties == nil {
		return
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		bare(p.Value)
	}
}

// pointersAreOptional is the other half of [Result], which leaves nulls out.
func pointersAreOptional(t reflect.Type, s *jsonschema.Schema) {
	for t.Kind() == reflect.Slice {
		t, s = t.Elem(), s.Items
	}
	if t.Kind() != reflect.Struct || s.Properties == nil {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		property, ok := s.Properties.Get(name)
		if !ok {
			continue
		}
		if f.Type.Kind() == reflect.Pointer || throughPointer(t, f.Index) {
			s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		} else {
			pointersAreOptional(f.Type, property)
		}
	}
}

// throughPointer: the field is promoted from an embedded pointer, which may be nil.
func throughPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		f := t.Field(i)
		if f.Type.Kind() == reflect.Pointer {
			return true
		}
		t = f.Type
	}
	return false
}

func render(s *jsonschema.Schema) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a type of ours that JSON Schema cannot say
	}
	return b
}
