package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// tokens is what a text costs a model, by the rule of thumb for English and JSON.
func tokens(bytes int) int { return (bytes + 3) / 4 }

// What the tools cost a model's context before anything is done with them. Models
// are given name, description and input schema; the rest of the list is for their
// clients.
func TestListCost(t *testing.T) {
	b := newBench(t)
	m := b.answer(manager.DefaultOwner, "tools/list", args{})
	var list struct {
		Tools []struct {
			Name, Description         string
			InputSchema, OutputSchema json.RawMessage
		}
	}
	if err := json.Unmarshal(m.Result, &list); err != nil {
		t.Fatal(err)
	}
	given, descriptions, inputs, outputs := 0, 0, 0, 0
	for _, tool := range list.Tools {
		given += len(mustJSON(args{"name": tool.Name, "description": tool.Description, "input_schema": tool.InputSchema}))
		descriptions += len(tool.Description)
		inputs += len(tool.InputSchema)
		outputs += len(tool.OutputSchema)
	}
	instructions := len(standard().render(instructions))
	if got := tokens(given); got > 6000 {
		t.Errorf("models are given %d tokens; the most is 6000", got)
	}
	if got := tokens(len(m.Result)); got > 9000 {
		t.Errorf("the list has %d tokens; the most is 9000", got)
	}
	inPage(t, "cost of the list", fmt.Sprintf(`| what | bytes | tokens |
| --- | --- | --- |
| %d tools as models are given them: name, description, input schema | %d | %d |
| of these, descriptions | %d | %d |
| of these, input schemas | %d | %d |
| output schemas, which few clients show their model | %d | %d |
| the whole answer to tools/list | %d | %d |
| server instructions | %d | %d |
`, len(list.Tools), given, tokens(given), descriptions, tokens(descriptions), inputs, tokens(inputs), outputs, tokens(outputs),
		len(m.Result), tokens(len(m.Result)), instructions, tokens(instructions)))
}

// What a session costs that makes a sandbox, finds a fault, mends it and tries two
// ways.
func TestSessionCost(t *testing.T) {
	b := newBench(t)
	program := "def median(values):\n    values = sorted(values)\n    return values[len(values) // 2]\n"
	test := "from stats import median\n\n\ndef test_odd():\n    assert median([3, 1, 2]) == 2\n\n\ndef test_even():\n    assert median([1, 2, 3, 4]) == 2.5\n"
	report := strings.Repeat("=", 30) + " FAILURES " + strings.Repeat("=", 30) + "\n" + strings.Repeat("    def test_even():\n>       assert median([1, 2, 3, 4]) == 2.5\nE       assert 3 == 2.5\n", 4) + "1 failed, 1 passed in 0.02s\n"
	var made schemas.Sandbox
	first := b.call("sandbox_create", args{"timeout_seconds": 3600})
	first.into(t, &made)
	box := string(made.ID)
	b.call("write_file", args{"sandbox_id": box, "path": ".report", "content": report})
	var rows strings.Builder
	rows.WriteString("| call | arguments | answer | answer as text |\n| --- | --- | --- | --- |\n")
	var names placeholders
	total := 0
	count := func(tool string, a args, r result) {
		structured := string(r.StructuredContent)
		if structured == "" {
			structured = r.text()
		}
		in, out, text := tokens(len(mustJSON(a))-1), tokens(len(names.hide(structured))), tokens(len(names.hide(r.text())))
		total += in + max(out, text)
		fmt.Fprintf(&rows, "| `%s` | %d | %d | %d |\n", tool, in, out, text)
	}
	count("sandbox_create", args{"timeout_seconds": 3600}, first)
	var snap schemas.Snapshot
	for _, c := range []struct {
		tool string
		args args
	}{
		{"write_file", args{"path": "stats.py", "content": program}},
		{"write_file", args{"path": "test_stats.py", "content": test}},
		{"exec", args{"command": "cat .report; exit 1"}},
		{"snapshot", args{"name": "before the fix"}},
		{"edit_file", args{"path": "stats.py", "old_text": "    return values[len(values) // 2]\n", "new_text": "    middle = len(values) // 2\n    if len(values) % 2:\n        return values[middle]\n    return (values[middle - 1] + values[middle]) / 2\n"}},
		{"exec", args{"command": "echo 2 passed in 0.02s"}},
		{"read_file", args{"path": "stats.py"}},
		{"fork", args{"count": 2}},
		{"sandbox_destroy", args{}},
	} {
		c.args["sandbox_id"] = box
		r := b.call(c.tool, c.args)
		if r.IsError {
			t.Fatalf("%s: %s", c.tool, r.text())
		}
		if c.tool == "snapshot" {
			r.into(t, &snap)
		}
		count(c.tool, c.args, r)
	}
	fmt.Fprintf(&rows, "| all ten, with the longer form of each answer | | %d | |\n", total)
	if total > 2500 {
		t.Errorf("the session costs %d tokens; the most is 2500", total)
	}
	inPage(t, "cost of a session", rows.String())
}
