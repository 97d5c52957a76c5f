//go:build conformance

package conformance

import (
	"strings"
	"testing"
)

// TestInspector: the inspector finds nothing to say of the tools' schemas, and can
// list them over each transport.
func TestInspector(t *testing.T) {
	binary, err := product()
	if err != nil {
		t.Fatal(err)
	}
	web := serve(t, product, t.TempDir()).URL
	header := []string{"--header", "Authorization: Bearer " + key}
	for name, target := range map[string][]string{
		"stdio": append([]string{"-e", "AGENT_SANDBOX_LOG_LEVEL=error", binary, "stdio"}, arguments(t.TempDir())...),
		"http":  append([]string{web + "/mcp", "--transport", "http"}, header...),
		"sse":   append([]string{web + "/sse", "--transport", "sse"}, header...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"node_modules/.bin/mcp-inspector", "--cli"}, target...)
			out, code := node(t, append(args, "--method", "tools/list", "--strict")...)
			if code != 0 || !strings.HasPrefix(out, "{\n") || !strings.HasSuffix(out, "\n}\n") || !strings.Contains(out, `"sandbox_create"`) {
				t.Errorf("exit code %d, and it says\n%s", code, out)
			}
		})
	}
}
