package tools

import (
	"context"
	"path"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// maxCompletions is the protocol's.
const maxCompletions = 100

// completions are what an argument of a prompt or of the file template may be: of
// the caller's own things only.
type completions struct{ *door }

func (c completions) CompletePromptArgument(ctx context.Context, prompt string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return asked(ctx, c.door, string(mcp.MethodCompletionComplete), func(o manager.Owner) (*mcp.Completion, error) {
		if _, ok := prompts[prompt]; !ok {
			return nil, invalid("ref", "there is no prompt %.64q", prompt)
		}
		switch a.Name {
		case "sandbox_id":
			return c.complete(a, c.sandboxes(ctx, o))
		case "start_from":
			return c.complete(a, c.sandboxes(ctx, o), c.snapshots(ctx, o))
		}
		return c.complete(a)
	})
}

func (c completions) CompleteResourceArgument(ctx context.Context, uri string, a mcp.CompleteArgument, known mcp.CompleteContext) (*mcp.Completion, error) {
	return asked(ctx, c.door, string(mcp.MethodCompletionComplete), func(o manager.Owner) (*mcp.Completion, error) {
		switch {
		case uri != fileTemplate:
			return nil, invalid("ref", "there is no resource template %.64q", uri)
		case a.Name == "sandbox_id":
			return c.complete(a, c.sandboxes(ctx, o))
		case a.Name == "path" && known.Arguments["sandbox_id"] != "":
			return c.complete(a, c.paths(ctx, o, schemas.SandboxID(known.Arguments["sandbox_id"]), a.Value))
		}
		return c.complete(a)
	})
}

// source calls yield with possible values, until that says no.
type source func(yield func(string) bool) error

func (completions) complete(a mcp.CompleteArgument, from ...source) (*mcp.Completion, error) {
	found := &mcp.Completion{Values: []string{}}
	for _, each := range from {
		err := each(func(value string) bool {
			if strings.HasPrefix(value, a.Value) {
				if found.HasMore = len(found.Values) == maxCompletions; !found.HasMore {
					found.Values = append(found.Values, value)
				}
			}
			return !found.HasMore
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (c completions) sandboxes(ctx context.Context, o manager.Owner) source {
	return paged(func(p schemas.Page) ([]schemas.Sandbox, string, error) {
		l, err := c.core.List(ctx, o, p)
		return l.Sandboxes, l.NextCursor, err
	}, func(s schemas.Sandbox) string { return string(s.ID) })
}

func (c completions) snapshots(ctx context.Context, o manager.Owner) source {
	return paged(func(p schemas.Page) ([]schemas.Snapshot, string, error) {
		l, err := c.core.ListSnapshots(ctx, o, "", p)
		return l.Snapshots, l.NextCursor, err
	}, func(s schemas.Snapshot) string { return string(s.ID) })
}

// paths are the entries of the directory that is being typed; none while it is
// not there.
func (c completions) paths(ctx context.Context, o manager.Owner, id schemas.SandboxID, typed string) source {
	dir, _ := path.Split(typed)
	in := dir
	if in == "" {
		in = workspace
	}
	return func(yield func(string) bool) error {
		l, err := c.core.ListFiles(ctx, o, id, in, schemas.Page{Limit: 1000})
		if err != nil {
			if code := public(err).Code; code == schemas.CodeNotFound || code == schemas.CodeInvalidRequest || code == schemas.CodeForbidden {
				return nil
			}
			return err
		}
		for _, f := range l.Entries {
			name := dir + f.Name
			if f.Type == schemas.TypeDirectory {
				name += "/"
			}
			if f.NameBase64 == "" && !yield(name) {
				break
			}
		}
		return nil
	}
}

// paged reads a list to its end, or as far as it is wanted.
func paged[T any](fetch func(schemas.Page) (entries []T, next string, err error), name func(T) string) source {
	return func(yield func(string) bool) error {
		for p := (schemas.Page{Limit: 1000}); ; {
			entries, next, err := fetch(p)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if !yield(name(e)) {
					return nil
				}
			}
			if next == "" {
				return nil
			}
			p.Cursor = next
		}
	}
}
