package backendtest

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// token is a word, with its quotes still on, or an operator.
type token struct {
	text string
	word bool
}

// operators, longest first.
var operators = []string{"2>&1", "1>&2", "2>>", ">&2", "2>", "&&", "||", ">>", ";", "&", "|", "(", ")", "<", ">", "\n"}

// unterminated is an error in dash's words, which begin as a sentence does.
type unterminated string

func (u unterminated) Error() string { return string(u) }

// lex cuts a script into tokens.
func lex(script string) (tokens []token, err error) {
	for script != "" {
		if script[0] == ' ' || script[0] == '\t' {
			script = script[1:]
			continue
		}
		if script[0] == '#' {
			end := strings.IndexByte(script+"\n", '\n')
			script = script[end:]
			continue
		}
		if op := leading(script); op != "" {
			tokens = append(tokens, token{text: op})
			script = script[len(op):]
			continue
		}
		n := wordLength(script)
		if n < 0 {
			return nil, unterminated("Unterminated quoted string")
		}
		tokens = append(tokens, token{text: script[:n], word: true})
		script = script[n:]
	}
	return tokens, nil
}

func leading(script string) string {
	i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(script, op) })
	if i < 0 {
		return ""
	}
	return operators[i]
}

// wordLength is how far the word at the start goes, -1 when a quote stays open.
func wordLength(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '\'' || s[i] == '"':
			end := strings.IndexByte(s[i+1:], s[i])
			if end < 0 {
				return -1
			}
			i += end + 1
		case strings.IndexByte(" \t\n;&|()<>", s[i]) >= 0:
			return i
		}
	}
	return len(s)
}

// expand takes quotes off and puts variables in.
func (p *proc) expand(word string) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(word); i++ {
		c := word[i]
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(word) && (quote == 0 || strings.IndexByte("\\\"$`", word[i+1]) >= 0):
			i++
			b.WriteByte(word[i])
		case c == '$' && quote != '\'':
			name, length := variable(word[i+1:])
			b.WriteString(p.value(name))
			i += length
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// variable is the name after a $ and how many bytes it takes up.
func variable(s string) (name string, length int) {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		name, _, _ = strings.Cut(inner, "}")
		return name, len(name) + 2
	}
	if s != "" && strings.IndexByte("?$", s[0]) >= 0 {
		return s[:1], 1
	}
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= '0' && s[n] <= '9' || s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z') {
		n++
	}
	return s[:n], n
}

func (p *proc) value(name string) string {
	switch name {
	case "":
		return "$"
	case "$":
		return ownPID
	case "?":
		return strconv.Itoa(p.shell.last)
	}
	if v, ok := p.shell.vars[name]; ok {
		return v
	}
	for _, e := range slices.Backward(p.env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	n, length := variable(name)
	return ok && name != "" && n == name && length == len(name) && (name[0] < '0' || name[0] > '9')
}

// redirect is an operator and the file it names, if it names one.
type redirect struct{ op, name string }

func (ps *parser) redirects() (all []redirect, err error) {
	for !ps.done() && !ps.tokens[ps.at].word {
		op := ps.peek()
		switch op {
		case "<", ">", ">>", "2>", "2>>":
			ps.at++
			if ps.done() || !ps.tokens[ps.at].word {
				return nil, errors.New("redirection without a file")
			}
			all = append(all, redirect{op, ps.peek()})
		case ">&2", "1>&2", "2>&1":
			all = append(all, redirect{op: op})
		default:
			return all, nil
		}
		ps.at++
	}
	return all, nil
}

// redirected runs a job with other streams, and puts the old ones back.
func redirected(p *proc, all []redirect, j job) int {
	in, out, errs := p.stdin, p.stdout, p.stderr
	defer func() { p.stdin, p.stdout, p.stderr = in, out, errs }()
	for _, r := range all {
		if err := p.apply(r); err != nil {
			return p.failed(err)
		}
	}
	return j(p)
}

func (p *proc) apply(r redirect) (err error) {
	name := p.expand(r.name)
	var w io.Writer
	switch r.op {
	case "<":
		p.stdin, err = p.open(name)
		return err
	case ">&2", "1>&2":
		p.stdout = p.stderr
		return nil
	case "2>&1":
		p.stderr = p.stdout
		return nil
	}
	if w, err = p.redirect(name, strings.HasSuffix(r.op, ">>")); err != nil {
		return err
	}
	if r.op[0] == '2' {
		p.stderr = w
	} else {
		p.stdout = w
	}
	return nil
}
