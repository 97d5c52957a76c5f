package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

var update = flag.Bool("update", false, "write what was got to testdata")

// golden compares with a file under testdata, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s is not what it was; if that is right, run go test ./tools -update:\n%s", path, d)
	}
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// standard are the settings of a server of which nothing was set.
func standard() facts {
	return facts{manager.Config{
		AllowedImages: []string{"*"}, AllowNetwork: true,
		MaxSandboxes: 20, DefaultTimeoutSeconds: 900, MaxTimeoutSeconds: 86400,
		DefaultCPUs: 1, MaxCPUs: 4, DefaultMemoryMB: 512, MaxMemoryMB: 4096, DefaultPidsLimit: 256, MaxPidsLimit: 4096,
		DefaultExecTimeoutSeconds: 60, MaxExecTimeoutSeconds: 3600,
		MaxExecOutputBytes: 10 << 20, MaxFileBytes: 50 << 20, MaxSnapshotBytes: 1 << 30,
	}}
}

// odd are settings of which every text must speak otherwise.
func odd() facts {
	return facts{manager.Config{
		DefaultImage: "ghcr.io/acme/\"<tools>:1", AllowedImages: []string{"node:*", "golang:1.*"},
		MaxSandboxes: 3, DefaultTimeoutSeconds: 7200, MaxTimeoutSeconds: 100_000,
		DefaultCPUs: 0.5, MaxCPUs: 2, DefaultMemoryMB: 64, MaxMemoryMB: 128, DefaultPidsLimit: 33, MaxPidsLimit: 34,
		DefaultExecTimeoutSeconds: 1.5, MaxExecTimeoutSeconds: 17,
		MaxExecOutputBytes: 777, MaxFileBytes: 1000, MaxSnapshotBytes: 1 << 30,
	}}
}

// What a model sees of each tool does not change by accident.
func TestToolsAreFrozen(t *testing.T) {
	for _, tool := range all {
		t.Run(tool.Name, func(t *testing.T) {
			golden(t, "tools/"+tool.Name+".json", indented(t, tool.rendered(standard())))
		})
	}
	golden(t, "instructions.txt", []byte(standard().render(instructions)+"\n"))
}

// Nothing that a model reads contradicts the server's settings.
func TestTextsFollowTheSettings(t *testing.T) {
	b := newBench(t)
	b.srv = newServer(configured{b.m, odd().Config}, "test", quiet())
	text := map[string]string{"instructions": odd().render(instructions)}
	for name, tool := range b.srv.ListTools() {
		var schema struct {
			Properties map[string]struct{ Description string }
		}
		if err := json.Unmarshal(tool.Tool.RawInputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		text[name] = tool.Tool.Description
		for argument, p := range schema.Properties {
			text[name+"."+argument] = p.Description
		}
	}
	for at, parts := range map[string][]string{
		"instructions":                        {"lives 2 hours unless", "this server allows none"},
		"sandbox_create":                      {`the image ghcr.io/acme/"<tools>:1, 0.5 CPUs, 64 MiB memory, no network, and 2 hours to live`, "allows no network", "allows only: node:*, golang:1.*.", "At most 3 sandboxes"},
		"sandbox_create.image":                {`Leave it out for ghcr.io/acme/"<tools>:1.`},
		"sandbox_create.cpus":                 {"Default 0.5, at most 2."},
		"sandbox_create.memory_mb":            {"Default 64, at most 128."},
		"sandbox_create.pids_limit":           {"Default 33, at most 34."},
		"sandbox_create.network":              {"refused"},
		"sandbox_create.timeout_seconds":      {"Default 7200, at most 100000."},
		"sandbox_set_timeout":                 {"The most is 100000 seconds"},
		"sandbox_set_timeout.timeout_seconds": {"At most 100000."},
		"fork.cpus":                           {"Default: as the source; at most 2."},
		"fork.network":                        {"refused"},
		"fork.timeout_seconds":                {"Default 7200, at most 100000."},
		"exec":                                {"at most 777 bytes each", "For more, redirect", "There is no network"},
		"exec.timeout_seconds":                {"Default: none; at most 100000."},
		"exec.max_output_bytes":               {"Default 777; more than 777 is never"},
		"exec_poll.max_output_bytes":          {"Default 777; more than 777 is never"},
		"exec_input.max_output_bytes":         {"Default 777; more than 777 is never"},
		"read_file":                           {"first 1000 bytes"},
	} {
		for _, part := range parts {
			if !strings.Contains(text[at], part) {
				t.Errorf("%s does not say %q: %s", at, part, text[at])
			}
		}
	}
	for _, stale := range []string{"15 minutes", "900", "86400", "512", "4096", "20000", "200000", "50 MiB", "network: true is needed", "{{", "<no value>"} {
		for at, got := range text {
			if strings.Contains(got, stale) {
				t.Errorf("%s says %q: %s", at, stale, got)
			}
		}
	}
}

func TestTimesAndSizesInWords(t *testing.T) {
	for text, want := range map[string]string{
		"{{time .DefaultTimeoutSeconds}}": "15 minutes", "{{time .MaxTimeoutSeconds}}": "1 day", "{{time 90.5}}": "90.5 seconds",
		"{{size .MaxFileBytes}}": "50 MiB", "{{size .MaxSnapshotBytes}}": "1 GiB", "{{cpus .DefaultCPUs}}": "1 CPU", "{{cpus 1.5}}": "1.5 CPUs",
	} {
		if got := standard().render(text); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestEveryFrozenToolIsThere(t *testing.T) {
	files, err := filepath.Glob("testdata/tools/*.json")
	if err != nil || len(files) != len(all) {
		t.Errorf("%d files for %d tools (%v)", len(files), len(all), err)
	}
}
