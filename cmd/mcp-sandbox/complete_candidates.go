package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/local"
)

// completionTime is how long a server may take: somebody waits with a finger on
// the key.
const completionTime = time.Second

// candidate is what a word may become.
type candidate struct{ word, about string }

// in is the candidate as a shell wants to read it. Bash replaces only what comes
// after the last of its breaks in the word.
func (c candidate) in(shell, current, breaks string) string {
	switch shell {
	case "bash":
		if i := strings.LastIndexAny(current, strings.ReplaceAll(breaks, " ", "")); i >= 0 && i < len(c.word) {
			return c.word[i+1:]
		}
		return c.word
	case "zsh":
		return strings.ReplaceAll(c.word, ":", `\:`) + ":" + c.about
	}
	return c.word + "\t" + c.about
}

// candidates are what the current word may become. There are none where a shell
// does best by completing files.
func (l *line) candidates() []candidate {
	all := l.all()
	fits := func(c candidate) bool {
		return strings.HasPrefix(c.word, l.current) && !strings.ContainsAny(c.word, "\n\t")
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return !fits(c) })
	for i := range all {
		all[i].about = plain(all[i].about)
	}
	return all
}

func (l *line) all() []candidate {
	flag := l.flag
	name, _, given := strings.Cut(l.current, "=")
	if given && !l.verbatim && flag == nil && strings.HasPrefix(name, "--") {
		if flag = l.findFlag(name); flag == nil {
			return nil
		}
		var all []candidate
		for _, c := range l.values(argument{flag.Value}) {
			all = append(all, candidate{name + "=" + c.word, c.about})
		}
		return all
	}
	switch {
	case flag != nil:
		return l.values(argument{flag.Value})
	case !l.verbatim && strings.HasPrefix(l.current, "-"):
		return l.flagNames()
	case l.node.Parent == nil:
		return l.commandNames()
	}
	return l.values(l.argument(len(l.positional)))
}

func (l *line) commandNames() (all []candidate) {
	for _, n := range l.node.Children {
		if !n.Hidden {
			all = append(all, candidate{n.Name, n.Help})
		}
	}
	return all
}

func (l *line) flagNames() (all []candidate) {
	for _, f := range l.node.Flags {
		if !f.Hidden {
			help, _, _ := strings.Cut(f.Help, ". ")
			all = append(all, candidate{"--" + f.Name, help})
		}
	}
	return append(all, candidate{"--help", "Show context-sensitive help"})
}

// values are what a flag or an argument may be.
func (l *line) values(a argument) (all []candidate) {
	if a.Value == nil {
		return nil
	}
	if choices := a.Tag.Get("oneof"); choices != "" {
		for c := range strings.SplitSeq(choices, ",") {
			all = append(all, candidate{c, ""})
		}
		return all
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	c := l.server()
	if c == nil {
		return nil
	}
	defer c.Close()
	for kind := range strings.SplitSeq(a.Tag.Get("complete"), ",") {
		all = append(all, l.living(ctx, c, kind)...)
	}
	return all
}

// living are what a server has of a kind; none where it does not say in time.
func (l *line) living(ctx context.Context, c *client.Client, kind string) (all []candidate) {
	switch kind {
	case "sandboxes", "places":
		list, _ := c.Sandboxes(ctx)
		for _, s := range list {
			all = append(all, named(string(s.Value.ID), s.Value.Name, s.Value.Image)...)
		}
	case "snapshots":
		list, _ := c.Snapshots(ctx, "")
		for _, s := range list {
			all = append(all, named(string(s.Value.ID), s.Value.Name, s.Value.Image)...)
		}
	case "execs":
		if len(l.positional) == 0 {
			return nil
		}
		id, err := c.Sandbox(ctx, l.positional[0])
		if err != nil {
			return nil
		}
		list, _ := c.Execs(ctx, id)
		for _, x := range list.Value.Execs {
			all = append(all, candidate{string(x.ExecID), string(x.Status) + ": " + x.Command})
		}
	}
	if kind == "places" { // the path comes after it
		for i := range all {
			all[i].word += ":"
		}
	}
	return all
}

// named is a thing by its ID and, where a shell takes that as it is, its name.
func named(id, name, image string) []candidate {
	all := []candidate{{id, strings.TrimSpace(name + " " + image)}}
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == "" && name[0] != '-' {
		all = append(all, candidate{name, id})
	}
	return all
}

// server is one that runs already. A completion starts none.
func (l *line) server() *client.Client {
	r := &reach{URL: l.setting("url"), APIKey: l.setting("api-key")}
	if r.URL != "" {
		k, err := r.dial(l.env)
		if err != nil {
			return nil
		}
		return k.Client
	}
	r.DataDir = l.setting("data-dir")
	if r.complete(l.env) != nil {
		return nil
	}
	c, err := client.New(local.BaseURL, "", local.Client(r.DataDir).Transport)
	if err != nil {
		return nil
	}
	return c
}

func (l *line) setting(name string) string {
	if v, ok := l.flags[name]; ok {
		return v
	}
	v, _ := l.lookup(envName(name))
	return v
}
