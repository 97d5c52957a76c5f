package schemas

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// Components are the schemas of an OpenAPI document, by name.
type Components map[string]json.RawMessage

// refersTo begins the reference to a component.
const refersTo = "#/components/schemas/"

// Reference gives a reference to T's schema, and adds that and all it refers to.
// These schemas are for REST clients: unlike those of tools they have references,
// and say what may be null.
func Reference[T any](c Components) json.RawMessage {
	t := reflect.TypeFor[T]()
	r := jsonschema.Reflector{Anonymous: true}
	for name, definition := range r.ReflectFromType(t).Definitions {
		c[name] = component(definition, structNamed(t, name))
	}
	return refTo(t.Name())
}

// OneOf adds a schema under a name, for what has one of several forms.
func OneOf(c Components, name string, references ...json.RawMessage) json.RawMessage {
	b, err := json.Marshal(map[string]any{"oneOf": references})
	if err != nil {
		panic(err) // they are JSON
	}
	c[name] = b
	return refTo(name)
}

func refTo(name string) json.RawMessage {
	return json.RawMessage(`{"$ref":"` + refersTo + name + `"}`)
}

// component is a definition in the document's terms. A request must not have
// other fields; an answer may get some in a later version.
func component(definition *jsonschema.Schema, t reflect.Type) json.RawMessage {
	text := strings.ReplaceAll(string(render(definition)), `"#/$defs/`, `"`+refersTo)
	var s map[string]any
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err) // it was JSON a line ago
	}
	if t != nil {
		allowNull(s, t)
		if !strings.HasSuffix(t.Name(), "Request") {
			delete(s, "additionalProperties")
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}

// allowNull marks the fields that are null when there is nothing to say.
func allowNull(s map[string]any, t reflect.Type) {
	properties, _ := s["properties"].(map[string]any)
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		property, ok := properties[name].(map[string]any)
		if ok && f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty") {
			property["type"] = []any{property["type"], "null"}
		}
	}
}

// structNamed finds a struct among those that t is made of.
func structNamed(t reflect.Type, name string) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	if t.Name() == name {
		return t
	}
	for f := range t.Fields() {
		if found := structNamed(f.Type, name); f.IsExported() && found != nil {
			return found
		}
	}
	return nil
}
