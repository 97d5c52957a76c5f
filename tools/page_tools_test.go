package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// The page has each tool as clients of a server with the usual settings see it.
func TestPageHasTheTools(t *testing.T) {
	var b strings.Builder
	b.WriteString("| tool | what it does | hints |\n| --- | --- | --- |\n")
	for _, x := range all {
		tool := x.rendered(standard())
		first, _, _ := strings.Cut(tool.Description, "\n")
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", tool.Name, tool.Name, first, hintWords(tool))
	}
	for _, x := range all {
		tool := x.rendered(standard())
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", tool.Name, strings.ReplaceAll(tool.Description, "<", "&lt;"))
		writeArguments(t, &b, tool)
	}
	inPage(t, "tools", b.String())
}

func hintWords(tool mcp.Tool) string {
	a := tool.Annotations
	words := []string{"adds or changes"}
	switch {
	case *a.ReadOnlyHint:
		words = []string{"only reads"}
	case *a.DestructiveHint:
		words = []string{"may lose data"}
	}
	if *a.IdempotentHint && !*a.ReadOnlyHint {
		words = append(words, "a second call changes nothing more")
	}
	if *a.OpenWorldHint {
		words = append(words, "may reach a network")
	}
	return strings.Join(words, "; ")
}

func writeArguments(t *testing.T, b *strings.Builder, tool mcp.Tool) {
	t.Helper()
	var schema struct {
		Properties json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(tool.RawInputSchema, &schema); err != nil {
		t.Fatal(err)
	}
	var properties map[string]struct {
		Type, Description string
		Minimum, Maximum  *float64
		Enum              []string
	}
	if err := json.Unmarshal(schema.Properties, &properties); err != nil {
		t.Fatal(err)
	}
	names := slices.SortedFunc(maps.Keys(properties), func(a, c string) int { // as they are written
		at := func(name string) int { return strings.Index(string(schema.Properties), fmt.Sprintf("%q:{", name)) }
		return at(a) - at(c)
	})
	if len(names) > 0 {
		b.WriteString("\n| argument | type | |\n| --- | --- | --- |\n")
	}
	for _, name := range names {
		p := properties[name]
		kind := p.Type
		if slices.Contains(schema.Required, name) {
			kind += ", required"
		}
		if len(p.Enum) > 0 {
			kind += ": " + strings.Join(p.Enum, " or ")
		}
		if p.Minimum != nil {
			kind += fmt.Sprintf(", from %v", *p.Minimum)
		}
		if p.Maximum != nil {
			kind += fmt.Sprintf(", to %.0f", *p.Maximum)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, kind, strings.ReplaceAll(p.Description, "|", `\|`))
	}
}

func TestPageHasThePrompts(t *testing.T) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(prompts)) {
		p := prompts[name]
		fmt.Fprintf(&b, "`%s`: %s\n\n| argument | |\n| --- | --- |\n", name, p.description)
		for _, a := range p.arguments {
			required := ""
			if a.required {
				required = " Required."
			}
			fmt.Fprintf(&b, "| `%s` | %s%s |\n", a.name, a.description, required)
		}
		b.WriteString("\n")
	}
	inPage(t, "prompts", b.String())
}
