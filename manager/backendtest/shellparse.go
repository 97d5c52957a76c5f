package backendtest

import (
	"fmt"
	"slices"
)

// job is a parsed piece of shell, ready to run in a process.
type job func(p *proc) int

// parser turns tokens into a job, by recursive descent.
type parser struct {
	tokens []token
	at     int
}

func parse(script string) (job, error) {
	tokens, err := lex(script)
	if err != nil {
		return nil, err
	}
	ps := &parser{tokens: tokens}
	j, err := ps.list()
	if err == nil && !ps.done() {
		err = fmt.Errorf("%q unexpected", ps.peek())
	}
	return j, err
}

func (ps *parser) done() bool { return ps.at >= len(ps.tokens) }

// peek is the next token's text, "" at the end.
func (ps *parser) peek() string {
	if ps.done() {
		return ""
	}
	return ps.tokens[ps.at].text
}

func (ps *parser) take(text string) bool {
	if ps.peek() != text || ps.done() {
		return false
	}
	ps.at++
	return true
}

func (ps *parser) want(text string) error {
	if !ps.take(text) {
		return fmt.Errorf("%q unexpected (expecting %q)", ps.peek(), text)
	}
	return nil
}

var closers = []string{")", "do", "done", "then", "else", "fi", ""}

// list is commands one after the other, up to what closes it.
func (ps *parser) list() (job, error) {
	var jobs []job
	for {
		for ps.take(";") || ps.take("\n") {
		}
		if ps.done() || slices.Contains(closers, ps.peek()) {
			return sequence(jobs), nil
		}
		j, err := ps.andOr()
		if err != nil {
			return nil, err
		}
		if ps.take("&") {
			inner := j
			j = func(p *proc) int { p.background(inner); return 0 }
		}
		jobs = append(jobs, j)
	}
}

func sequence(jobs []job) job {
	return func(p *proc) int {
		code := 0
		for _, j := range jobs {
			if p.stopped() {
				break
			}
			code = j(p)
			p.shell.last = code
			p.runTraps()
		}
		return code
	}
}

func (ps *parser) andOr() (job, error) {
	left, err := ps.pipeline()
	for err == nil {
		op := ps.peek()
		if op != "&&" && op != "||" {
			break
		}
		ps.at++
		var right job
		right, err = ps.pipeline()
		left = either(left, op == "&&", right)
	}
	return left, err
}

func either(left job, and bool, right job) job {
	return func(p *proc) int {
		code := left(p)
		p.shell.last = code
		if (code == 0) == and && !p.stopped() {
			return right(p)
		}
		return code
	}
}

func (ps *parser) pipeline() (job, error) {
	first, err := ps.command()
	jobs := []job{first}
	for err == nil && ps.take("|") {
		var next job
		next, err = ps.command()
		jobs = append(jobs, next)
	}
	if len(jobs) == 1 {
		return first, err
	}
	return func(p *proc) int { return p.pipeline(jobs) }, err
}

func (ps *parser) command() (job, error) {
	switch {
	case ps.take("("):
		return ps.group()
	case ps.take("while"):
		return ps.while()
	case ps.take("if"):
		return ps.condition()
	}
	return ps.simple()
}

func (ps *parser) group() (job, error) {
	inner, err := ps.list()
	if err == nil {
		err = ps.want(")")
	}
	if err != nil {
		return nil, err
	}
	redirects, err := ps.redirects()
	return func(p *proc) int { return redirected(p.subshell(), redirects, inner) }, err
}

func (ps *parser) while() (job, error) {
	parts, err := ps.parts("do", "done")
	if err != nil {
		return nil, err
	}
	return func(p *proc) int {
		code := 0
		for !p.stopped() && parts[0](p) == 0 && !p.stopped() {
			code = parts[1](p)
		}
		return code
	}, nil
}

func (ps *parser) condition() (job, error) {
	parts, err := ps.parts("then")
	if err != nil {
		return nil, err
	}
	yes, err := ps.list()
	if err != nil {
		return nil, err
	}
	no := sequence(nil)
	if ps.take("else") {
		if no, err = ps.list(); err != nil {
			return nil, err
		}
	}
	return func(p *proc) int {
		if parts[0](p) == 0 {
			return yes(p)
		}
		return no(p)
	}, ps.want("fi")
}

// parts reads a list before each of the words.
func (ps *parser) parts(words ...string) (jobs []job, err error) {
	for _, word := range words {
		j, err := ps.list()
		if err == nil {
			err = ps.want(word)
		}
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}
