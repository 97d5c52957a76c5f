package faults

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var call = regexp.MustCompile(`faults\.Point\((.*?)\)`)

// TestPoints: each point in the list is in the code, and the other way round,
// also in what is compiled for other systems only.
func TestPoints(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range []string{"..", "../../dockerbackend"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range call.FindAllStringSubmatch(string(text), -1) {
				name := strings.Trim(found[1], `"`)
				if used[name] = true; !slices.Contains(Points, name) {
					t.Errorf("%s: point %s is not in the list", path, found[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range Points {
		if !used[name] {
			t.Errorf("point %s is in the list and nowhere in the code", name)
		}
		if slices.Contains(Points[:i], name) {
			t.Errorf("point %s is twice in the list", name)
		}
	}
}
