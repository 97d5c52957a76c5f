package e2e

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// provenBy is how docs/guarantees.md names a test: `package.Test/subtest`.
var provenBy = regexp.MustCompile("`([a-z0-9/-]+)\\.((?:Test|Fuzz)\\w+)(?:/([^`]+))?`")

// TestGuaranteesHaveTests holds docs/guarantees.md against the source: each test
// that the page names is there, and each promise names one.
func TestGuaranteesHaveTests(t *testing.T) {
	page, err := os.ReadFile("../docs/guarantees.md")
	check(t, err)
	packages := map[string]testNames{}
	for _, line := range strings.Split(string(page), "\n") {
		named := provenBy.FindAllStringSubmatch(line, -1)
		if strings.HasPrefix(line, "- ") && len(named) == 0 {
			t.Errorf("no test proves this: %s", line)
		}
		for _, name := range named {
			if packages[name[1]].tests == nil {
				packages[name[1]] = namesIn(t, name[1])
			}
			if !packages[name[1]].has(name[2], name[3]) {
				t.Errorf("there is no %s", name[0])
			}
		}
	}
	if len(packages) == 0 {
		t.Error("the page names no test")
	}
}

// namedTest is how the other pages name a test; without a package it is of this one.
var namedTest = regexp.MustCompile("`(?:([a-z0-9/-]+)\\.)?((?:Test|Fuzz)[A-Z]\\w+)(?:/[^`]*)?`")

// TestPagesNameTests holds the other pages against the source: each test that they
// name is there.
func TestPagesNameTests(t *testing.T) {
	packages := map[string]testNames{}
	pages, _ := filepath.Glob("../docs/*.md")
	for _, path := range append(pages, "../SECURITY.md", "../README.md") {
		if path == "../docs/field-cases.md" { // is held by e2e/field
			continue
		}
		page, err := os.ReadFile(path)
		check(t, err)
		for _, name := range namedTest.FindAllStringSubmatch(string(page), -1) {
			folder := cmp.Or(name[1], "e2e")
			if packages[folder].tests == nil {
				packages[folder] = namesIn(t, folder)
			}
			if !packages[folder].has(name[2], "") {
				t.Errorf("%s: there is no %s", path, name[0])
			}
		}
	}
	if !packages["e2e"].tests["TestIsolation"] {
		t.Error("the pages name no test")
	}
}

// testNames are the names that a package's tests may have: of functions, and of
// subtests, which are among the texts in its test files.
type testNames struct {
	tests, texts map[string]bool
}

func (n testNames) has(test, subtest string) bool {
	return n.tests[test] && (subtest == "" || n.texts[subtest])
}

func namesIn(t *testing.T, folder string) testNames {
	t.Helper()
	n := testNames{map[string]bool{}, map[string]bool{}}
	files, _ := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		check(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncDecl:
				n.tests[node.Name.Name] = true
			case *ast.BasicLit:
				if text, err := strconv.Unquote(node.Value); err == nil {
					n.texts[text] = true
				}
			}
			return true
		})
	}
	return n
}
