package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/mcp-sandbox/mcp-sandbox/"

// layers is the architecture: what each folder may import of ours. A folder
// that is not named here follows the one above it.
var layers = map[string][]string{
	"schemas":                  {},
	"guest":                    {"guest"},
	"guest/protocol":           {},
	"guest/client":             {"guest/protocol"},
	"manager":                  {"schemas"},
	"manager/races":            {"schemas"},
	"manager/backendtest":      {"manager", "schemas"},
	"dockerbackend":            {"manager", "schemas", "guest", "guest/client", "guest/protocol"},
	"dockerbackend/faultproxy": {},
	"dockerbackend/endpoints":  {},
	"tools":                    {"manager", "schemas"},
	"httpapi":                  {"manager", "schemas"},
	"metrics":                  {"manager", "schemas"},
	"cmd/mcp-sandbox":          {"dockerbackend", "guest", "httpapi", "manager", "metrics", "schemas", "tools"},
	"cmd/sandbox-guest":        {"guest"},
	"e2e":                      {"e2e", "manager", "schemas"},
	"e2e/hostile":              {"guest/protocol"},
	"supplychain":              {},
}

// goPackage is the part of "go list -json" that matters here.
type goPackage struct {
	ImportPath string
	Imports    []string
}

// TestLayers holds the imports of every package against the architecture:
// schemas, then manager, then backend and doors, then the command.
func TestLayers(t *testing.T) {
	for _, p := range listPackages(t) {
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		rule := ruleFor(name)
		if rule == "" {
			t.Errorf("%s is in no layer: add it to the table above", name)
		}
		for _, imported := range p.Imports {
			checkImport(t, name, rule, imported)
		}
	}
}

func checkImport(t *testing.T, name, rule, imported string) {
	t.Helper()
	if isDocker(imported) && rule != "dockerbackend" {
		t.Errorf("%s imports %s: only dockerbackend may speak to Docker", name, imported)
	}
	target, ours := strings.CutPrefix(imported, module)
	if !ours || rule == "" || inside(target, name) {
		return
	}
	for _, allowed := range layers[rule] {
		// A package may use what lies below what it may use, but for the guest,
		// whose insides belong to the guest.
		if target == allowed || inside(target, allowed) && (allowed != "guest" || inside(name, "guest")) {
			return
		}
	}
	t.Errorf("%s imports %s: it may import of ours only %v", name, target, layers[rule])
}

func isDocker(path string) bool {
	return strings.HasPrefix(path, "github.com/docker/") || strings.HasPrefix(path, "github.com/moby/")
}

// ruleFor is the nearest folder that the table names.
func ruleFor(name string) string {
	for {
		if _, ok := layers[name]; ok {
			return name
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return ""
		}
		name = name[:i]
	}
}

func inside(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("read the list of packages: %v", err)
		}
		all = append(all, p)
	}
}
