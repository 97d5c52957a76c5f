package tools

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const docsPage = "../docs/mcp.md"

// inPage holds a part of docs/mcp.md, between two comments, to what it must be, or
// writes it.
func inPage(t *testing.T, part, want string) {
	t.Helper()
	page, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+": go test ./tools -update -->\n", "<!-- end of "+part+" -->\n"
	head, rest, ok := strings.Cut(string(page), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no part %q", docsPage, part)
	}
	if *update {
		if err := os.WriteFile(docsPage, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s, %s, is not what it must be; run go test ./tools -update:\n%s", docsPage, part, d)
	}
}
