package main

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
)

// release is set by the linker when a release is built.
var release string

// version is the release, else the module's version, else "devel".
func version() string {
	return cmp.Or(release, moduleVersion(buildInfo()), "devel")
}

type versionCmd struct{}

// Run prints what this program was built from.
func (versionCmd) Run(e *env) error {
	fmt.Fprintf(e.stdout, "mcp-sandbox %s\n", version())
	fmt.Fprintf(e.stdout, "go          %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if c := commit(release, buildInfo()); c != "" {
		fmt.Fprintf(e.stdout, "commit      %s\n", c)
	}
	return nil
}

func buildInfo() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return &debug.BuildInfo{}
	}
	return info
}

func moduleVersion(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "(devel)" {
		return v
	}
	return ""
}

// described finds the revision in what git describe says and in a version that
// Go made up for one, and whether files were changed.
var described = regexp.MustCompile(`(?:^|-g|[-.]\d{14}-)([0-9a-f]{7,40})([-+]dirty)?$`)

// commit is the revision that Go stamped in, else the one that the version names,
// and whether files were changed; empty where neither is known.
func commit(release string, info *debug.BuildInfo) string {
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	revision, changed := vcs["vcs.revision"], vcs["vcs.modified"] == "true"
	for _, v := range []string{release, moduleVersion(info)} {
		if m := described.FindStringSubmatch(v); m != nil && revision == "" {
			revision, changed = m[1], m[2] != ""
		}
	}
	if revision != "" && changed {
		revision += " (with local changes)"
	}
	return revision
}
