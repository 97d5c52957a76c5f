package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

type setupCmd struct {
	Client  string `arg:"" oneof:"claude-code,claude-desktop,cursor,vscode" help:"claude-code, claude-desktop, cursor or vscode."`
	Write   bool   `help:"Merge it into the client's file, and keep a copy of the file as it was."`
	Project bool   `help:"For this directory, not for the user: .mcp.json, .cursor/mcp.json or .vscode/mcp.json. Claude Desktop has no such file."`
	Name    string `placeholder:"NAME" default:"sandbox" help:"What the client calls the server. Default sandbox."`
	DataDir string `placeholder:"DIR" help:"A data directory of the client's own. Default: the usual one, whose sandboxes all clients share."`
}

// Help ends the page of --help.
func (*setupCmd) Help() string {
	return `The client then starts this program itself, as mcp-sandbox stdio. To see what would be written, and to write it:

    mcp-sandbox setup claude-desktop
    mcp-sandbox setup claude-desktop --write

Nothing else in the file is touched, and settings that the server's entry has besides stay. A file that is not plain JSON is refused. Clients that are to use a server over HTTP are configured by hand, see docs/http.md.`
}

// Run prints the configuration, or writes it.
func (c *setupCmd) Run(e *env) error {
	s, err := c.setup(e)
	if err != nil {
		return failure{exitUsage, err}
	}
	if c.Write {
		return s.write(e)
	}
	b, err := json.MarshalIndent(map[string]any{s.servers: map[string]any{c.Name: s.entry}}, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s\n", b)
	fmt.Fprintf(e.stderr, "This belongs into %s; with --write it is put there.\n", s.path)
	return nil
}

// setup is what a client has to be told, and where.
type setup struct {
	*mcpClient
	name  string
	path  string
	entry entry
}

// entry is how a server is started, in the form that all of them take.
type entry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func (c *setupCmd) setup(e *env) (*setup, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	s := &setup{mcpClient: clients[c.Client], name: c.Name, entry: entry{Type: clients[c.Client].kind, Command: self, Args: []string{"stdio"}}}
	if !isServerName(c.Name) {
		return nil, fmt.Errorf("--name=%.64q: must be 1 to 32 letters, digits, - and _", c.Name)
	}
	if c.DataDir != "" {
		dir, err := filepath.Abs(c.DataDir)
		if err != nil {
			return nil, err
		}
		s.entry.Args = append(s.entry.Args, "--data-dir", dir)
	}
	if !c.Project {
		s.path, err = s.file(home{runtime.GOOS, e.lookup})
		return s, err
	}
	if s.project == "" {
		return nil, fmt.Errorf("--project: %s has no file for one directory", s.title)
	}
	s.path, err = filepath.Abs(filepath.FromSlash(s.project))
	return s, err
}

func isServerName(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return len(s) > 0 && len(s) <= 32
}

// mcpClient is one that keeps its servers in a JSON file.
type mcpClient struct {
	title   string
	servers string // the member that has them
	kind    string // value of an entry's type; "" where there is none
	project string // file for one directory; "" where there is none
	file    func(home) (string, error)
	then    string // what its user has to do
}

var clients = map[string]*mcpClient{
	"claude-code": {
		title: "Claude Code", servers: "mcpServers", kind: "stdio", project: ".mcp.json",
		file: home.claudeCode, then: "Start Claude Code anew; /mcp shows the server.",
	},
	"claude-desktop": {
		title: "Claude Desktop", servers: "mcpServers",
		file: func(p home) (string, error) { return p.inConfig("Claude", "claude_desktop_config.json") },
		then: "Quit Claude Desktop and start it anew.",
	},
	"cursor": {
		title: "Cursor", servers: "mcpServers", project: ".cursor/mcp.json",
		file: func(p home) (string, error) { return p.inHome(".cursor", "mcp.json") },
		then: "Turn the server on in Cursor's settings, under MCP.",
	},
	"vscode": {
		title: "VS Code", servers: "servers", kind: "stdio", project: ".vscode/mcp.json",
		file: func(p home) (string, error) { return p.inConfig("Code", "User", "mcp.json") },
		then: "Start the server by the command MCP: List Servers.",
	},
}

// home is where programs keep what they know of a user.
type home struct {
	goos   string
	lookup func(string) (string, bool)
}

func (p home) claudeCode() (string, error) {
	if dir, _ := p.lookup("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, ".claude.json"), nil
	}
	return p.inHome(".claude.json")
}

func (p home) inHome(path ...string) (string, error) {
	name := "HOME"
	if p.goos == "windows" {
		name = "USERPROFILE"
	}
	dir, _ := p.lookup(name)
	if dir == "" {
		return "", errors.New(name + " is not set: there is no home directory to look for the client's file in")
	}
	return filepath.Join(append([]string{dir}, path...)...), nil
}

// inConfig is where desktop programs keep their settings.
func (p home) inConfig(path ...string) (string, error) {
	switch p.goos {
	case "darwin":
		return p.inHome(append([]string{"Library", "Application Support"}, path...)...)
	case "windows":
		if dir, _ := p.lookup("APPDATA"); dir != "" {
			return filepath.Join(append([]string{dir}, path...)...), nil
		}
		return p.inHome(append([]string{"AppData", "Roaming"}, path...)...)
	}
	if dir, _ := p.lookup("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(append([]string{dir}, path...)...), nil
	}
	return p.inHome(append([]string{".config"}, path...)...)
}
