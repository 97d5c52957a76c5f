package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// module is one that the product is made of, or made with.
type module struct {
	Path, Version, Sum, Dir string
	Main                    bool
	Replace                 *module

	shipped bool   // linked into the server or the guest, on any system
	licence string // SPDX
}

const ours = "github.com/mcp-sandbox/mcp-sandbox"

// targets are the systems that the server is built for; the guest is for Linux.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}

// listModules are all modules but our own that anything here is built of, by path.
func listModules() ([]module, error) {
	all := map[string]module{}
	add := func(shipped bool, env []string, args ...string) error {
		found, err := goList(env, args...)
		for _, m := range found {
			m.shipped = shipped || all[m.Path].shipped
			all[m.Path] = m
		}
		return err
	}
	var problems []error
	for _, target := range targets {
		system, arch, _ := strings.Cut(target, "/")
		env := []string{"GOOS=" + system, "GOARCH=" + arch, "CGO_ENABLED=0"}
		problems = append(problems, add(true, env, ours+"/cmd/mcp-sandbox"))
	}
	problems = append(problems,
		add(true, []string{"GOOS=linux", "CGO_ENABLED=0"}, ours+"/cmd/sandbox-guest"),
		add(false, nil, "-test", "-tags=faults,conformance", ours+"/..."),
		add(false, nil, "tool"))
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	var modules []module
	for _, m := range all {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

// goList are the modules of packages and of all that they import.
func goList(env []string, args ...string) (found []module, err error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=Module"}, args...)...)
	var problems bytes.Buffer
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %v: %w\n%s", args, err, problems.String())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("read what go list prints: %w", err)
		}
		if m := p.Module; m != nil && !m.Main {
			if m.Replace != nil {
				m.Dir, m.Version, m.Sum = m.Replace.Dir, m.Replace.Version, m.Replace.Sum
			}
			found = append(found, *m)
		}
	}
}
