package tools

import (
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// everyTool is each tool as servers with different settings show it.
func everyTool() iter.Seq[mcp.Tool] {
	return func(yield func(mcp.Tool) bool) {
		for _, tool := range all {
			if !yield(tool.rendered(standard())) || !yield(tool.rendered(odd())) {
				return
			}
		}
	}
}

// The schemas that a model provider gets hold nothing that any of them refuses.
func TestSchemasArePortable(t *testing.T) {
	for tool := range everyTool() {
		for kind, raw := range map[string]json.RawMessage{"input": tool.RawInputSchema, "output": tool.RawOutputSchema} {
			if raw == nil {
				continue
			}
			var s any
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Fatal(err)
			}
			lintSchema(t, tool.Name+" "+kind, s)
			if s.(map[string]any)["type"] != "object" {
				t.Errorf("%s %s: the top is not an object", tool.Name, kind)
			}
		}
	}
}

func lintSchema(t *testing.T, at string, schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		t.Errorf("%s: %v is not a schema that all clients know", at, schema)
		return
	}
	known := []string{
		"type", "description", "enum", "properties", "required", "additionalProperties", "items", "format", "pattern",
		"minimum", "maximum", "minLength", "maxLength",
	}
	for keyword := range s {
		if !slices.Contains(known, keyword) {
			t.Errorf("%s: keyword %s", at, keyword)
		}
	}
	if _, ok := s["type"].(string); !ok {
		t.Errorf("%s: type is %v", at, s["type"])
	}
	if _, ok := s["properties"].(map[string]any); !ok && s["type"] == "object" {
		t.Errorf("%s: an object without properties", at)
	}
	if s["type"] == "array" {
		lintSchema(t, at+"[]", s["items"])
	}
	if extra, ok := s["additionalProperties"]; ok && extra != false {
		lintSchema(t, at+".*", extra)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		lintSchema(t, at+"."+name, p)
	}
}

func TestInputsAreFlatAndDescribed(t *testing.T) {
	for tool := range everyTool() {
		var s struct {
			Properties map[string]struct {
				Type, Description    string
				Properties           map[string]any
				AdditionalProperties any
			}
			Required []string
		}
		if err := json.Unmarshal(tool.RawInputSchema, &s); err != nil {
			t.Fatal(err)
		}
		for name, p := range s.Properties {
			if len(p.Description) < 10 || len(p.Description) > 300 {
				t.Errorf("%s.%s: description of %d bytes", tool.Name, name, len(p.Description))
			}
			if len(p.Properties) > 0 {
				t.Errorf("%s.%s is nested", tool.Name, name)
			}
		}
		if !strings.Contains(string(tool.RawInputSchema), `"additionalProperties":false`) {
			t.Errorf("%s takes unknown arguments", tool.Name)
		}
	}
}

func TestEveryToolIsFullyDescribed(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z_]{3,20}$`)
	for _, f := range []facts{standard(), odd()} {
		if n := len(f.render(instructions)); n > 2000 {
			t.Errorf("instructions have %d bytes", n)
		}
	}
	for tool := range everyTool() {
		a := tool.Annotations
		switch first, _, _ := strings.Cut(tool.Description, "\n"); {
		case !name.MatchString(tool.Name):
			t.Errorf("%s: a name that some clients refuse", tool.Name)
		case len(tool.Description) > 2000:
			t.Errorf("%s: description of %d bytes", tool.Name, len(tool.Description))
		case len(first) < 20 || len(first) > 250 || !strings.HasSuffix(first, "."):
			t.Errorf("%s: the first line is %q", tool.Name, first)
		case tool.Title == "" || a.Title != tool.Title:
			t.Errorf("%s: title %q", tool.Name, tool.Title)
		case a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil:
			t.Errorf("%s: a hint is missing", tool.Name)
		case *a.ReadOnlyHint && *a.DestructiveHint:
			t.Errorf("%s: read-only and destructive", tool.Name)
		}
	}
}
