package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/tree"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

type cpCmd struct {
	AllLinks bool `help:"Make symbolic links that lead out of what is copied, too. Otherwise they are left out, as a sandbox could have you write where you do not mean to."`

	Source      string `arg:"" complete:"places" help:"What to copy: a path here, SANDBOX:PATH, or - for standard input."`
	Destination string `arg:"" complete:"places" help:"Where to: a path here, SANDBOX:PATH, or - for standard output."`

	reach
}

// Help ends the page of --help.
func (*cpCmd) Help() string {
	return `One of the two is in a sandbox, which is named by ID, beginning of an ID, or name. Paths there are absolute, or relative to /workspace; only what is in /workspace can be written. For example:

    mcp-sandbox cp notes.txt $id:docs/
    mcp-sandbox cp src $id:          (makes /workspace/src)
    mcp-sandbox cp src/. $id:        (only what is in src)
    mcp-sandbox cp $id:build/out.bin .
    mcp-sandbox cp $id:report.csv - | head

A directory is copied with all that is in it: under its own name into one that is there, or else as one of the new name; with /. at its end only its contents are, into one that is there. Modes, times and symbolic links are kept. What is in the way is replaced, but for directories.

With - the other side decides: where it is a directory, a tar is read or written, and otherwise a file's content.

What cannot be copied is named on standard error, and the exit code is 1 when the rest is done. A local name with a colon is written with a path, as ./a:b.`
}

// place is one side of a copy.
type place struct {
	sandbox string // "" for here
	path    string
}

func (p place) stream() bool { return p.sandbox == "" && p.path == "-" }

// parsePlace tells a path from one in a sandbox by a colon that no slash and no
// drive comes before.
func parsePlace(arg string) place {
	i := strings.IndexByte(arg, ':')
	if i <= 0 || strings.ContainsAny(arg[:i], `/\`) || filepath.VolumeName(arg) != "" {
		return place{path: arg}
	}
	return place{arg[:i], arg[i+1:]}
}

// Run copies.
func (c *cpCmd) Run(e *env) error {
	from, to := parsePlace(c.Source), parsePlace(c.Destination)
	switch {
	case from.sandbox == "" && to.sandbox == "":
		return failure{exitUsage, client.Invalid("Write it as SANDBOX:PATH; mcp-sandbox cp --help has examples.", "neither %q nor %q is in a sandbox", c.Source, c.Destination)}
	case from.sandbox != "" && to.sandbox != "":
		return failure{exitUsage, client.Invalid("Copy by way of this machine: mcp-sandbox cp A:DIR - | mcp-sandbox cp - B:DIR/", "both %q and %q are in sandboxes", c.Source, c.Destination)}
	}
	return c.run(e, func(ctx context.Context, s *session) error {
		id, err := s.Sandbox(ctx, from.sandbox+to.sandbox)
		if err != nil {
			return err
		}
		p := &copying{session: s, id: id, allLinks: c.AllLinks}
		p.line = s.progress("copying")
		if to.stream() && isTerminal(s.stdout) {
			p.line.stop() // what is copied appears there
		}
		if from.sandbox != "" {
			err = p.out(ctx, from.path, to)
		} else {
			err = p.in(ctx, from, to.path)
		}
		p.line.stop()
		return p.end(err)
	})
}

// maxSkipped is how many entries that were left out are named.
const maxSkipped = 20

// copying is one copy at work.
type copying struct {
	*session
	id       schemas.SandboxID
	allLinks bool
	line     *progress
	skipped  []string // what is said of the first ones
	count    int      // of all that were left out
}

func (p *copying) options(top bool) tree.Options {
	return tree.Options{Top: top, AllLinks: p.allLinks, Skipped: func(name, why string) {
		if p.count++; p.count <= maxSkipped {
			p.skipped = append(p.skipped, plain(name)+": "+plain(why))
		}
	}}
}

// end names what was left out.
func (p *copying) end(err error) error {
	for _, s := range p.skipped {
		fmt.Fprintln(p.stderr, "mcp-sandbox: not copied:", s)
	}
	if err == nil && p.count > 0 {
		hint := ""
		if strings.Contains(strings.Join(p.skipped, "\n"), "leads outside") {
			hint = "--all-links makes links that lead outside, too."
		}
		return client.Invalid(hint, "%d of the entries were not copied", p.count)
	}
	return err
}
