package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// line is a command line that is being written.
type line struct {
	*env
	node       *kong.Node
	current    string // the word that is being completed
	flag       *kong.Flag
	flags      map[string]string // their values, so far
	positional []string
	verbatim   bool // no more flags
}

// newLine reads all words but the last, which is not done.
func newLine(e *env, root *kong.Node, words []string) *line {
	n := len(words) - 1
	l := &line{env: e, node: root, current: words[n], flags: map[string]string{}}
	for _, w := range words[:n] {
		l.read(w)
	}
	return l
}

func (l *line) read(word string) {
	if l.flag != nil {
		l.flags[l.flag.Name], l.flag = word, nil
		return
	}
	switch {
	case l.verbatim:
		l.positional = append(l.positional, word)
	case word == "--":
		l.verbatim = true
	case strings.HasPrefix(word, "-") && len(word) > 1:
		l.readFlag(word)
	case l.node.Parent == nil:
		i := slices.IndexFunc(l.node.Children, func(n *kong.Node) bool { return n.Name == word })
		if i < 0 {
			l.node = &kong.Node{Parent: l.node} // no command, and nothing to complete
			return
		}
		l.node = l.node.Children[i]
	default:
		l.positional = append(l.positional, word)
		l.verbatim = l.verbatim || l.argument(len(l.positional)-1).passthrough()
	}
}

func (l *line) readFlag(word string) {
	name, value, given := strings.Cut(word, "=")
	f := l.findFlag(name)
	switch {
	case f == nil || f.IsBool():
	case given:
		l.flags[f.Name] = value
	default:
		l.flag = f // its value is the next word
	}
}

// findFlag knows --long and -s; of -abc the last counts.
func (l *line) findFlag(name string) *kong.Flag {
	for _, f := range l.node.Flags {
		if name == "--"+f.Name || f.Short != 0 && !strings.HasPrefix(name, "--") && strings.HasSuffix(name, string(f.Short)) {
			return f
		}
	}
	return nil
}

// argument is the positional argument at i, the last one if that takes many.
type argument struct{ *kong.Value }

func (l *line) argument(i int) argument {
	all := l.node.Positional
	switch {
	case i < len(all):
		return argument{all[i]}
	case len(all) > 0 && all[len(all)-1].IsCumulative():
		return argument{all[len(all)-1]}
	}
	return argument{}
}

func (a argument) passthrough() bool { return a.Value != nil && a.Passthrough }

// lineWords takes a line apart as a shell does, as far as quotes and backslashes
// go. The first word, the command itself, is left out.
func lineWords(text string) []string {
	var words []string
	var word strings.Builder
	quote, escaped := rune(0), false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && (r == ' ' || r == '\t'):
			if word.Len() > 0 {
				words = append(words, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(r)
		}
	}
	return append(words, word.String())[1:]
}
