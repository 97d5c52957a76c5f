package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// What a model sees of each tool does not change by accident.
func TestToolsAreFrozen(t *testing.T) {
	for _, tool := range all {
		t.Run(tool.Name, func(t *testing.T) { golden(t, "tools/"+tool.Name+".json", indented(t, tool.Tool)) })
	}
	golden(t, "instructions.txt", []byte(instructions+"\n"))
}

func TestEveryFrozenToolIsThere(t *testing.T) {
	files, err := filepath.Glob("testdata/tools/*.json")
	if err != nil || len(files) != len(all) {
		t.Errorf("%d files for %d tools (%v)", len(files), len(all), err)
	}
}
