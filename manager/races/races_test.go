package races_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager/races"
)

var update = flag.Bool("update", false, "write the table into docs/guarantees.md")

const (
	page       = "../../docs/guarantees.md"
	begin, end = "<!-- races: written by go test ./manager/races -update -->\n", "<!-- races: end -->\n"
)

// TestTableIsInTheDocs holds the page that operators read against the table.
func TestTableIsInTheDocs(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	shown, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no place for the table", page)
	}
	if want := "\n" + races.Markdown() + "\n"; shown != want {
		if !*update {
			t.Fatalf("%s has another table (run with -update)", page)
		}
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every two operations but two ends of time, or of the server, may meet.
func TestTableIsComplete(t *testing.T) {
	for _, a := range races.Ops {
		for _, b := range races.Ops {
			meet := a != b || a != races.Expiry && a != races.Restart
			if got := races.Allowed(a, b); (len(got) > 0) != meet {
				t.Errorf("%s beside %s: %v", a, b, got)
			}
		}
	}
}
