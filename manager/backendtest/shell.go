package backendtest

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

// shell is a tiny sh: lists (; & && || newline), pipelines, ( … ), while … do …
// done, if … then … [else …] fi, quotes, $NAME ${NAME} $? $$, assignments, and
// redirections (< > >> 2> 2>> >&2 2>&1). There is no word splitting, globbing,
// arithmetic, here-document or function. Anything else is a syntax error (2).
type shell struct {
	vars map[string]string
	last int // $?
	quit bool
	jobs *sync.WaitGroup
	// inner is a subshell, which leaves signals to the shell around it.
	inner bool
}

const ownPID = "7" // what $$ says

// sh runs the shell: -c SCRIPT, or a script on standard input.
func (p *proc) sh(argv []string) int {
	script := ""
	if len(argv) > 2 && argv[1] == "-c" {
		script = argv[2]
	} else {
		text, _ := io.ReadAll(p.stdin)
		script = string(text)
	}
	j, err := parse(script)
	if err != nil {
		return p.fail(2, "%s: 1: Syntax error: %v", argv[0], err) // as dash
	}
	p.shell = &shell{vars: map[string]string{}, jobs: &sync.WaitGroup{}}
	return j(p)
}

// subshell is a copy whose variables and directory are its own.
func (p *proc) subshell() *proc {
	c, s := *p, *p.shell
	s.vars, s.jobs, s.inner = map[string]string{}, &sync.WaitGroup{}, true
	for k, v := range p.shell.vars {
		s.vars[k] = v
	}
	c.shell = &s
	return &c
}

// stopped: exit was called, or the process was killed.
func (p *proc) stopped() bool { return p.shell.quit || p.run.live.Err() != nil }

// background starts a job and does not wait for it.
func (p *proc) background(j job) {
	c := p.subshell()
	c.stdin = eof{}
	p.shell.jobs.Go(func() { j(c) })
}

// pipeline runs jobs side by side, each one's output the next one's input.
func (p *proc) pipeline(jobs []job) int {
	var others sync.WaitGroup
	in := p.stdin
	for _, j := range jobs[:len(jobs)-1] {
		r, w := io.Pipe()
		c := p.subshell()
		c.stdin, c.stdout = in, w
		others.Go(func() {
			j(c)
			w.Close()
			closeReader(c.stdin)
		})
		in = r
	}
	c := p.subshell()
	c.stdin = in
	code := jobs[len(jobs)-1](c)
	closeReader(in)
	others.Wait()
	return code
}

// closeReader tells the writer of a pipe that nobody reads any more.
func closeReader(r io.Reader) {
	if pr, ok := r.(*io.PipeReader); ok {
		pr.Close()
	}
}

// builtin runs what only the shell itself can do.
func (p *proc) builtin(argv []string) (code int, known bool) {
	arg := append(argv, "")[1]
	switch argv[0] {
	case ":", "set":
		return 0, true
	case "trap":
		p.run.traps.set(argv[1:])
		return 0, true
	case "exit":
		p.shell.quit = true
		if arg == "" {
			return p.shell.last, true
		}
		return atoi(arg) & 0xff, true
	case "cd":
		return p.cd(arg), true
	case "export":
		p.env = append(p.env[:len(p.env):len(p.env)], argv[1:]...)
		return 0, true
	case "wait":
		p.shell.jobs.Wait()
		return 0, true
	case "read":
		line, err := bufio.NewReaderSize(oneByte{p.stdin}, 16).ReadString('\n')
		p.shell.vars[arg] = strings.TrimSuffix(line, "\n")
		if err != nil {
			return 1, true
		}
		return 0, true
	case "kill":
		return p.killSelf(argv[1:]), true
	}
	return 0, false
}

func (p *proc) cd(to string) int {
	at, err := p.find(to)
	if err != nil {
		return p.failed(err)
	}
	if !at.node.isDir() {
		return p.fail(1, "cd: %s: not a directory", to)
	}
	p.dir = at.path
	return 0
}

// killSelf is kill -N $$, the only process that the shell knows.
func (p *proc) killSelf(args []string) int {
	names := map[string]string{"-9": "SIGKILL", "-KILL": "SIGKILL", "-15": "SIGTERM", "-TERM": "SIGTERM"}
	if len(args) != 2 || args[1] != ownPID || names[args[0]] == "" {
		return p.fail(1, "kill: only -9 $$ and -15 $$ are known")
	}
	p.signal, p.shell.quit = names[args[0]], true
	if p.signal == "SIGTERM" {
		return 128 + 15
	}
	return 128 + 9
}

// oneByte keeps a buffered reader from taking more than the line.
type oneByte struct{ io.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.Reader.Read(b[:1]) }

func atoi(s string) (n int) {
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}
