package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Ref is a sandbox or a snapshot; one of the two IDs is set.
type Ref struct {
	Sandbox  schemas.SandboxID
	Snapshot schemas.SnapshotID
}

func (r Ref) String() string { return string(r.Sandbox) + string(r.Snapshot) }

// Kinds of things that a name may be meant to be of.
const (
	OfSandboxes = 1 << iota
	OfSnapshots
)

// maxCandidates is how many are shown of those that a name may mean.
const maxCandidates = 10

// Find gives what a user means: by its ID, which is believed without looking; by
// its name; or by the beginning of its ID, with or without what all IDs begin
// with. A name counts before the beginning of an ID.
func (c *Client) Find(ctx context.Context, kinds int, text string) (Ref, error) {
	if id, err := schemas.ParseSandboxID(text); err == nil && kinds&OfSandboxes != 0 {
		return Ref{Sandbox: id}, nil
	}
	if id, err := schemas.ParseSnapshotID(text); err == nil && kinds&OfSnapshots != 0 {
		return Ref{Snapshot: id}, nil
	}
	all, err := c.named(ctx, kinds)
	if err != nil {
		return Ref{}, err
	}
	found := slices.DeleteFunc(slices.Clone(all), func(n named) bool { return n.name != text || text == "" })
	if len(found) == 0 {
		found = slices.DeleteFunc(all, func(n named) bool { return !beginsID(n.String(), text) })
	}
	if len(found) != 1 {
		return Ref{}, unclear(kinds, text, found)
	}
	return found[0].Ref, nil
}

// Sandbox is Find for sandboxes only.
func (c *Client) Sandbox(ctx context.Context, text string) (schemas.SandboxID, error) {
	ref, err := c.Find(ctx, OfSandboxes, text)
	return ref.Sandbox, err
}

// FindSnapshot is Find for snapshots only.
func (c *Client) FindSnapshot(ctx context.Context, text string) (schemas.SnapshotID, error) {
	ref, err := c.Find(ctx, OfSnapshots, text)
	return ref.Snapshot, err
}

// named is one that there is.
type named struct {
	Ref
	name string
}

// beginsID tells whether text is the beginning of an ID, with or without what all
// IDs of its kind begin with. Less than a digit of it is none.
func beginsID(id, text string) bool {
	_, digits, _ := strings.Cut(id, "_")
	return text != "" && (strings.HasPrefix(digits, text) || strings.HasPrefix(id, text) && len(text) > len(id)-len(digits))
}

func (c *Client) named(ctx context.Context, kinds int) (all []named, err error) {
	if kinds&OfSandboxes != 0 {
		list, err := c.Sandboxes(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			all = append(all, named{Ref{Sandbox: s.Value.ID}, s.Value.Name})
		}
	}
	if kinds&OfSnapshots != 0 {
		list, err := c.Snapshots(ctx, "")
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			all = append(all, named{Ref{Snapshot: s.Value.ID}, s.Value.Name})
		}
	}
	return all, nil
}

// unclear says that a text means nothing, or too much.
func unclear(kinds int, text string, found []named) error {
	what := map[int]string{OfSandboxes: "sandbox", OfSnapshots: "snapshot", OfSandboxes | OfSnapshots: "sandbox or snapshot"}[kinds]
	if len(found) == 0 {
		e := Invalid("mcp-sandbox ls lists sandboxes, mcp-sandbox ls --snapshots snapshots. What has expired or was removed is not there.",
			"no %s has the ID or name %q", what, text)
		e.Body.Code = schemas.CodeNotFound
		return e
	}
	var shown []string
	for _, n := range found[:min(len(found), maxCandidates)] {
		shown = append(shown, strings.TrimSpace(n.String()+" "+n.name))
	}
	more := ""
	if n := len(found) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return Invalid("Give the ID, or more of it.", "%q may be any of: %s%s", text, strings.Join(shown, ", "), more)
}
