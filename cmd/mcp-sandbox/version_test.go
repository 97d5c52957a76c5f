package main

import (
	"runtime/debug"
	"testing"
)

func TestCommit(t *testing.T) {
	const full = "0123456789abcdef0123456789abcdef01234567"
	stamped := []debug.BuildSetting{{Key: "vcs.revision", Value: full}, {Key: "vcs.modified", Value: "true"}}
	for _, c := range []struct {
		release, module string
		settings        []debug.BuildSetting
		want            string
	}{
		{"", "", nil, ""},
		{"", "(devel)", nil, ""},
		{"dev", "(devel)", nil, ""},
		{"v1.2.0", "(devel)", nil, ""},
		{"v1.2.0-5-gabcdef0", "(devel)", stamped, full + " (with local changes)"},
		{"v1.2.0-5-gabcdef0", "(devel)", stamped[:1], full},
		{"v1.2.0-5-gabcdef0", "(devel)", nil, "abcdef0"},
		{"v1.2.0-5-gabcdef0-dirty", "", nil, "abcdef0 (with local changes)"},
		{"abcdef0-dirty", "", nil, "abcdef0 (with local changes)"},
		{"", "v0.0.0-20261130084106-abcdef012345", nil, "abcdef012345"},
		{"", "v0.0.0-20261130084106-abcdef012345+dirty", nil, "abcdef012345 (with local changes)"},
		{"v2.0.0", "v1.2.1-0.20261130084106-abcdef012345", nil, "abcdef012345"},
	} {
		if got := commit(c.release, &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}); got != c.want {
			t.Errorf("%q, %q, %v: got %q, want %q", c.release, c.module, c.settings, got, c.want)
		}
	}
}
