package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is set by the linker when a release is built.
var release string

// version is the release, else the module's version, else "devel".
func version() string {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		module = info.Main.Version
	}
	return cmp.Or(release, module, "devel")
}

type versionCmd struct{}

// Run prints what this program was built from.
func (versionCmd) Run(e *env) error {
	fmt.Fprintf(e.stdout, "mcp-sandbox %s\n", version())
	fmt.Fprintf(e.stdout, "go          %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(e.stdout, "commit      %s\n", commit())
	return nil
}

// commit is the revision that Go stamped in, and whether files were changed.
func commit() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "unknown"
	}
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	text := cmp.Or(vcs["vcs.revision"], "unknown")
	if vcs["vcs.modified"] == "true" {
		text += " (with local changes)"
	}
	return text
}
