package httpapi

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var update = flag.Bool("update", false, "write docs/api.md")

const docsFile = "../docs/api.md"

// The page of the API is what the table of routes says.
func TestDocs(t *testing.T) {
	intro, err := os.ReadFile("testdata/api_intro.md")
	if err != nil {
		t.Fatal(err)
	}
	got := string(intro) + page(t)
	if *update {
		if err := os.WriteFile(docsFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(string(want), got); d != "" {
		t.Errorf("docs/api.md is not what the routes are; run go test ./httpapi -update:\n%s", d)
	}
}

// shape is as much of a JSON Schema as the page shows.
type shape struct {
	Type                 any
	Ref                  string `json:"$ref"`
	Format, Description  string
	Enum                 []string
	Items                *shape
	OneOf                []shape
	AdditionalProperties any
	Properties           map[string]shape
	Required             []string
}

func page(t *testing.T) string {
	var doc struct {
		Components struct{ Schemas map[string]shape }
	}
	if err := json.Unmarshal(OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	writeFailures(&b)
	b.WriteString("## Routes\n\n| | success | |\n| --- | --- | --- |\n")
	for _, r := range routes {
		fmt.Fprintf(&b, "| [`%s %s`](#%s) | %d %s | %s |\n", r.method, r.path, anchor(r), r.status, shows(r.result), r.summary)
	}
	for _, r := range routes {
		writeRoute(&b, r)
	}
	b.WriteString("\n## Types\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		writeType(&b, name, doc.Components.Schemas[name])
	}
	return b.String()
}

func writeFailures(b *strings.Builder) {
	b.WriteString("## Failures\n\n| status | code | what to do |\n| --- | --- | --- |\n")
	codes := slices.SortedFunc(maps.Keys(forms), func(x, y schemas.Code) int { return cmp.Compare(forms[x].status, forms[y].status) })
	for _, code := range codes {
		f := forms[code]
		extra := ""
		if f.retryAfter > 0 {
			extra = fmt.Sprintf(" `Retry-After: %d`.", f.retryAfter)
		}
		fmt.Fprintf(b, "| %d | `%s` | %s%s |\n", f.status, code, f.hint, extra)
	}
	b.WriteString("| 416 | `invalid_request` | The file has nothing in the range asked for; `Content-Range` has its size. |\n\n")
}

func writeRoute(b *strings.Builder, r route) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s\n\n", r.method, r.path, r.summary)
	for _, name := range r.query {
		p := parameterOf(r, name)
		fmt.Fprintf(b, "- query `%s` (%s): %s\n", name, p.kind(), p.description)
	}
	if r.body.mediaType != "" {
		optional := ""
		if r.body.optional {
			optional = ", may be left out"
		}
		fmt.Fprintf(b, "- body: %s%s\n", shows(r.body), optional)
	}
	for i, a := range answersOf(r) {
		what := "success"
		if i > 0 {
			what = "or"
		}
		line := strings.TrimSpace(fmt.Sprintf("- %s: %d %s", what, a.status, shows(a.content)))
		if a.description != "Done." {
			line += ". " + a.description
		}
		fmt.Fprintln(b, line)
	}
	if all := failuresOf(r); len(all) > 0 {
		slices.Sort(all)
		fmt.Fprintf(b, "- failures: %s\n", strings.Trim(fmt.Sprint(all), "[]"))
	}
}

func anchor(r route) string {
	return strings.ToLower(strings.NewReplacer("/", "", "{", "", "}", "", ".", "").Replace(r.method + "-" + r.path))
}

// shows is a body's type, with a link to it.
func shows(c content) string {
	switch {
	case c.mediaType == "":
		return ""
	case c.schema == nil:
		return "`" + c.mediaType + "`"
	}
	var s shape
	if err := json.Unmarshal(c.schema(schemas.Components{}), &s); err != nil {
		panic(err)
	}
	return kind(s)
}

func kind(s shape) string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	case len(s.OneOf) > 0:
		var all []string
		for _, o := range s.OneOf {
			all = append(all, kind(o))
		}
		return strings.Join(all, " or ")
	case s.Items != nil:
		return "array of " + kind(*s.Items)
	case len(s.Enum) > 0:
		return "`" + strings.Join(s.Enum, "`, `") + "`"
	case s.Format == "date-time":
		return "time"
	}
	if several, ok := s.Type.([]any); ok {
		return fmt.Sprintf("%v or null", several[0])
	}
	return fmt.Sprint(s.Type)
}

func writeType(b *strings.Builder, name string, s shape) {
	fmt.Fprintf(b, "\n### %s\n\n", name)
	if len(s.OneOf) > 0 {
		fmt.Fprintf(b, "%s\n", kind(s))
		return
	}
	if s.Properties == nil {
		fmt.Fprintf(b, "%s\n", kind(s))
		return
	}
	b.WriteString("| field | type | |\n| --- | --- | --- |\n")
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[field]
		about := p.Description
		if !slices.Contains(s.Required, field) {
			about = strings.TrimSpace("*Optional.* " + about)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", field, kind(p), about)
	}
}
