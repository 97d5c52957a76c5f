package main

import (
	"path/filepath"
	"testing"
)

// Where each client looks for its file, on each system.
func TestSetupPaths(t *testing.T) {
	root := t.TempDir()
	in := func(path string) string { return filepath.Join(root, filepath.FromSlash(path)) }
	for _, c := range []struct {
		goos, client, want string
		set                map[string]string
	}{
		{"linux", "claude-code", in(".claude.json"), nil},
		{"linux", "claude-code", in("other/.claude.json"), map[string]string{"CLAUDE_CONFIG_DIR": in("other")}},
		{"linux", "claude-desktop", in(".config/Claude/claude_desktop_config.json"), nil},
		{"linux", "vscode", in("xdg/Code/User/mcp.json"), map[string]string{"XDG_CONFIG_HOME": in("xdg")}},
		{"linux", "vscode", in(".config/Code/User/mcp.json"), map[string]string{"XDG_CONFIG_HOME": "relative"}},
		{"linux", "cursor", in(".cursor/mcp.json"), nil},
		{"darwin", "claude-code", in(".claude.json"), nil},
		{"darwin", "claude-desktop", in("Library/Application Support/Claude/claude_desktop_config.json"), nil},
		{"darwin", "vscode", in("Library/Application Support/Code/User/mcp.json"), nil},
		{"darwin", "cursor", in(".cursor/mcp.json"), nil},
		{"windows", "claude-code", in("win/.claude.json"), nil},
		{"windows", "claude-desktop", in("roaming/Claude/claude_desktop_config.json"), map[string]string{"APPDATA": in("roaming")}},
		{"windows", "vscode", in("win/AppData/Roaming/Code/User/mcp.json"), nil},
		{"windows", "cursor", in("win/.cursor/mcp.json"), nil},
	} {
		got, err := clients[c.client].file(home{c.goos, func(name string) (string, bool) {
			all := map[string]string{"HOME": root, "USERPROFILE": in("win")}
			for k, v := range c.set {
				all[k] = v
			}
			v, ok := all[name]
			return v, ok
		}})
		if got != c.want || err != nil {
			t.Errorf("%s on %s: %s, %v; want %s", c.client, c.goos, got, err, c.want)
		}
	}
	for name := range clients {
		if path, err := clients[name].file(home{"linux", func(string) (string, bool) { return "", false }}); err == nil {
			t.Errorf("%s without a home: %s", name, path)
		}
	}
}
