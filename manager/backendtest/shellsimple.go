package backendtest

import (
	"fmt"
	"strings"
)

// simple is assignments, words and redirections.
func (ps *parser) simple() (job, error) {
	var words []string
	redirects, err := ps.redirects()
	for err == nil && !ps.done() && ps.tokens[ps.at].word {
		words = append(words, ps.peek())
		ps.at++
		var more []redirect
		more, err = ps.redirects()
		redirects = append(redirects, more...)
	}
	if err == nil && len(words) == 0 && len(redirects) == 0 {
		err = fmt.Errorf("%q unexpected", ps.peek())
	}
	return func(p *proc) int {
		return redirected(p, redirects, func(p *proc) int { return p.simple(words) })
	}, err
}

// simple runs one command, after setting the variables before it.
func (p *proc) simple(words []string) int {
	env := p.env
	for len(words) > 0 && isAssignment(words[0]) {
		name, value, _ := strings.Cut(words[0], "=")
		value = p.expand(value)
		env = append(env[:len(env):len(env)], name+"="+value)
		if len(words) == 1 {
			p.shell.vars[name] = value
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return 0
	}
	argv := make([]string, len(words))
	for i, w := range words {
		argv[i] = p.expand(w)
	}
	if code, known := p.builtin(argv); known {
		return code
	}
	c := *p
	c.env, c.shell, c.signal = env, nil, ""
	return c.exec(argv)
}
