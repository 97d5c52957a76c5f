//go:build conformance

package conformance

import "testing"

// TestTypeScript: each client of the TypeScript SDKs does a whole session, with
// nothing to complain of (clients/scenario.mjs).
func TestTypeScript(t *testing.T) {
	binary, err := product()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	web := serve(t, product, dir).URL
	own := func() []string { return append([]string{"stdio", binary, "stdio"}, arguments(t.TempDir())...) }
	for name, how := range map[string][]string{
		"v1 stdio":            append([]string{"v1.mjs"}, own()...),
		"v1 forwarded stdio":  append([]string{"v1.mjs", "stdio", binary, "stdio"}, arguments(dir)...),
		"v1 http":             {"v1.mjs", "http", web + "/mcp"},
		"v1 sse":              {"v1.mjs", "sse", web + "/sse"},
		"v2 2025-11-25 stdio": append([]string{"v2.mjs", "2025-11-25"}, own()...),
		"v2 2026-07-28 stdio": append([]string{"v2.mjs", "2026-07-28"}, own()...),
		"v2 2025-11-25 http":  {"v2.mjs", "2025-11-25", "http", web + "/mcp"},
		"v2 2026-07-28 http":  {"v2.mjs", "2026-07-28", "http", web + "/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			how[0] = "clients/" + how[0]
			out, code := node(t, how...)
			t.Log("\n" + out)
			if code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
