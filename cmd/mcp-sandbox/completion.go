package main

import (
	_ "embed"
	"fmt"
	"io"
)

type completionCmd struct {
	Shell string `arg:"" oneof:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help ends the page of --help.
func (*completionCmd) Help() string {
	return `Commands and flags are completed, and the IDs and names of sandboxes and snapshots while a server can be asked for them. In bash, put into ~/.bashrc:

    source <(mcp-sandbox completion bash)

In zsh, once:

    mcp-sandbox completion zsh > "${fpath[1]}/_mcp-sandbox"

In fish, once:

    mcp-sandbox completion fish > ~/.config/fish/completions/mcp-sandbox.fish`
}

// The scripts know nothing but how to ask "mcp-sandbox __complete".
var (
	//go:embed completion.bash
	bashCompletion string
	//go:embed completion.zsh
	zshCompletion string
	//go:embed completion.fish
	fishCompletion string
)

// Run prints a script.
func (c *completionCmd) Run(e *env) error {
	script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	_, err := io.WriteString(e.stdout, script)
	return err
}

type completeCmd struct {
	Words []string `arg:"" optional:"" type:"words" help:"The shell, and the words of the line after the command, up to the one that is being completed; of bash, its COMP_WORDBREAKS and the line as it is."`
}

// Run prints what the last word may be, one a line. It never fails, and says
// nothing else: whatever it printed would be in the user's line.
func (c *completeCmd) Run(e *env) error {
	if len(c.Words) < 2 {
		return nil
	}
	words, breaks := c.Words[1:], ""
	if c.Words[0] == "bash" {
		breaks, words = c.Words[1], lineWords(c.Words[len(c.Words)-1])
	}
	parser, err := e.parser()
	if err != nil || len(words) == 0 {
		return nil
	}
	l := newLine(e, parser.Model.Node, words)
	for _, w := range l.candidates() {
		fmt.Fprintln(e.stdout, w.in(c.Words[0], l.current, breaks))
	}
	return nil
}
