package tools

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// prompt is a job that users start by name. Its text is a template over what its
// check makes of the arguments.
type prompt struct {
	title, description string
	arguments          []promptArgument
	text               string
	check              func(ctx context.Context, d *door, o manager.Owner, a map[string]string) (any, error)
}

type promptArgument struct {
	name, description string
	required          bool
}

var prompts = map[string]prompt{
	"try_in_parallel": tryInParallel,
	"try_safely":      trySafely,
}

func (d *door) addPrompts(s *server.MCPServer) {
	for name, p := range prompts {
		options := []mcp.PromptOption{mcp.WithPromptTitle(p.title), mcp.WithPromptDescription(p.description)}
		for _, a := range p.arguments {
			about := []mcp.ArgumentOption{mcp.ArgumentDescription(a.description)}
			if a.required {
				about = append(about, mcp.RequiredArgument())
			}
			options = append(options, mcp.WithArgument(a.name, about...))
		}
		text := template.Must(template.New(name).Parse(p.text))
		s.AddPrompt(mcp.NewPrompt(name, options...), func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return asked(ctx, d, string(mcp.MethodPromptsGet), func(o manager.Owner) (*mcp.GetPromptResult, error) {
				facts, err := p.facts(ctx, d, o, req.Params.Arguments)
				if err != nil {
					return nil, err
				}
				var b bytes.Buffer
				if err := text.Execute(&b, facts); err != nil {
					return nil, err
				}
				return mcp.NewGetPromptResult(p.description, []mcp.PromptMessage{
					mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(b.String())),
				}), nil
			})
		})
	}
}

// facts checks what mcp-go does not: which arguments there are, and which must be.
func (p prompt) facts(ctx context.Context, d *door, o manager.Owner, given map[string]string) (any, error) {
	a := map[string]string{}
	var names []string
	for _, known := range p.arguments {
		names = append(names, known.name)
		if a[known.name] = strings.TrimSpace(given[known.name]); a[known.name] == "" && known.required {
			return nil, invalid(known.name, "is required")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return nil, invalid(short(name), "is not a known argument; known are %s", strings.Join(names, ", "))
		}
	}
	return p.check(ctx, d, o, a)
}

var tryInParallel = prompt{
	title:       "Try several ways in parallel",
	description: "Prepare one sandbox, fork it, try a different fix in each fork, and keep the best.",
	arguments: []promptArgument{
		{"problem", "What is to be solved.", true},
		{"ways", "How many ways to try, 2 to 10. Default 3.", false},
		{"check", "Shell command that exits with 0 when it is solved. Without one the model writes a test.", false},
		{"start_from", "ID of the sandbox or snapshot that has the files. Default: a new sandbox.", false},
	},
	text: `Solve this in sandboxes, by trying {{.Ways}} different ways in parallel:

{{.Problem}}

1. {{if .Snapshot}}The files are in snapshot {{.Snapshot}}: fork it once, to look at them.{{else if .Sandbox}}The files are in sandbox {{.Sandbox}}.{{else}}Make one sandbox with sandbox_create, and put the files into it.{{end}} Reproduce the problem before anything else.
2. {{if .Check}}What counts is this command, run by exec: it exits with 0 when the problem is solved.

{{.Check}}

{{else}}Write a test that fails now and will pass when the problem is solved; it is the same for every way.
{{end}}3. Think of {{.Ways}} ways that really differ. Then {{if .Snapshot}}(unless files had to be changed) fork snapshot {{.Snapshot}}{{else}}fork that sandbox{{end}} with count {{.Ways}}, and try one way in each fork; calls to different sandboxes may run at the same time.
4. Run the check in every fork. Compare those that pass: the smallest and clearest change wins, not the first.
5. Report each way in a line, with its result, and the winning change as a diff. Take a snapshot of the winner, destroy the forks, and give the snapshot's id.`,
	check: func(ctx context.Context, d *door, o manager.Owner, a map[string]string) (any, error) {
		f := struct {
			Problem, Check    string
			Ways              int
			Sandbox, Snapshot string
		}{Problem: a["problem"], Check: a["check"], Ways: 3}
		if text := a["ways"]; text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 2 || n > 10 {
				return nil, invalid("ways", "must be a whole number from 2 to 10, got %.64q", text)
			}
			f.Ways = n
		}
		switch start := a["start_from"]; {
		case strings.HasPrefix(start, "snap_"):
			f.Snapshot = start
			return f, d.hasSnapshot(ctx, o, start)
		case start != "":
			f.Sandbox = start
			return f, d.hasSandbox(ctx, o, "start_from", start)
		}
		return f, nil
	},
}

var trySafely = prompt{
	title:       "Try something with a way back",
	description: "Take a snapshot, make a risky change, check it, and roll back if it failed.",
	arguments: []promptArgument{
		{"task", "What is to be done, as an upgrade or a refactoring.", true},
		{"check", "Shell command that exits with 0 when all is well.", false},
		{"sandbox_id", "The sandbox that has the files. Default: a new one.", false},
	},
	text: `Do this in {{if .Sandbox}}sandbox {{.Sandbox}}{{else}}a sandbox (sandbox_create; put the files into it first){{end}}, such that it can be undone:

{{.Task}}

1. {{if .Check}}Run this check by exec before any change, and note what it says:

{{.Check}}

{{else}}Find or write a check (tests, a build, a request) that tells whether all is well, and run it before any change.
{{end}}2. Take a snapshot, and keep its id.
3. Make the change, and run the check again.
4. If it fails and a few attempts do not mend it, roll back to the snapshot, and try another way from there.
5. Report what was changed, what the check said before and after, and the id of the snapshot. Do not destroy the sandbox.`,
	check: func(ctx context.Context, d *door, o manager.Owner, a map[string]string) (any, error) {
		f := struct{ Task, Check, Sandbox string }{a["task"], a["check"], a["sandbox_id"]}
		if f.Sandbox != "" {
			return f, d.hasSandbox(ctx, o, "sandbox_id", f.Sandbox)
		}
		return f, nil
	},
}

// hasSandbox: a prompt that names one that is not there would only fail later.
func (d *door) hasSandbox(ctx context.Context, o manager.Owner, field, text string) error {
	id, err := schemas.ParseSandboxID(text)
	if err != nil {
		return invalid(field, "%v; got %.64q", err, text)
	}
	_, err = d.core.Get(ctx, o, id)
	return err
}

func (d *door) hasSnapshot(ctx context.Context, o manager.Owner, text string) error {
	id, err := schemas.ParseSnapshotID(text)
	if err != nil {
		return invalid("start_from", "%v; got %.64q", err, text)
	}
	_, err = d.core.GetSnapshot(ctx, o, id)
	return err
}
