package backendtest

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// proc is one fake process. Copying it is fork.
type proc struct {
	run            *run
	fake           *Fake
	root           *node
	readOnly       bool
	dir            string
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	signal         string // that ended it
	shell          *shell // when it is one
}

// exec becomes the program that argv names.
func (p *proc) exec(argv []string) int {
	name := argv[0]
	if strings.Contains(name, "/") {
		if path.Dir(name) != "/bin" {
			return p.notExecutable(name)
		}
		name = path.Base(name)
	}
	if name == "sh" {
		return p.sh(argv)
	}
	program := programs[name]
	if program == nil {
		return p.fail(127, "%s: not found", argv[0])
	}
	return program(p, argv[1:])
}

// notExecutable answers for files of the sandbox's own: no interpreter is that
// complete.
func (p *proc) notExecutable(name string) int {
	if _, err := p.find(name); err != nil {
		return p.fail(127, "%s: not found", name)
	}
	return p.fail(126, "%s: permission denied", name)
}

// fail writes a message to standard error and returns the exit code.
func (p *proc) fail(code int, format string, args ...any) int {
	fmt.Fprintf(p.stderr, format+"\n", args...)
	return code
}

// failed reports a file operation's error, if it has one.
func (p *proc) failed(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := err.(*manager.Error); ok {
		return p.fail(1, "%s", e.Message)
	}
	return 1
}

func (p *proc) abs(name string) string { return absolute(p.dir, name) }

func absolute(dir, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimRight(dir, "/") + "/" + name
}

// touching runs a file operation, unless the process has been killed.
func (p *proc) touching(op func() error) error {
	p.fake.mu.Lock()
	defer p.fake.mu.Unlock()
	if err := p.run.live.Err(); err != nil {
		return err
	}
	return op()
}

func (p *proc) find(name string) (at place, err error) {
	err = p.touching(func() error {
		at, err = p.root.find(p.abs(name), true)
		return err
	})
	return at, err
}

func (p *proc) read(name string) (data []byte, err error) {
	err = p.touching(func() error {
		data, _, err = p.root.read(p.abs(name))
		return err
	})
	return data, err
}

// writable resolves a name that is about to be made or changed; it needs the lock.
func (p *proc) writable(name string, follow bool) (place, error) {
	at, err := p.root.walk(p.abs(name), follow)
	if err != nil {
		return at, err
	}
	free := at.path == workspace || strings.HasPrefix(at.path, workspace+"/") || strings.HasPrefix(at.path, "/tmp/")
	if p.readOnly && !free {
		return at, fail(manager.KindForbidden, "%s: read-only file system", name)
	}
	if at.parent != nil && at.parent.mode&0o200 == 0 && at.node == nil {
		return at, fail(manager.KindForbidden, "%s: permission denied", name)
	}
	return at, nil
}

// create makes a file, a directory, a link …
func (p *proc) create(name string, n *node) error {
	return p.touching(func() error {
		at, err := p.writable(name, false)
		if err != nil {
			return err
		}
		if at.node != nil {
			return fail(manager.KindConflict, "%s: file exists", name)
		}
		at.parent.put(at.name, n)
		return nil
	})
}

// redirect opens a file for output.
func (p *proc) redirect(name string, add bool) (io.Writer, error) {
	if name == "/dev/null" {
		return io.Discard, nil
	}
	var out *openFile
	err := p.touching(func() error {
		at, err := p.writable(name, true)
		if err != nil {
			return err
		}
		if at.node == nil {
			at.node = newFile(0o644, nil)
			at.parent.put(at.name, at.node)
		}
		if at.node.typ != schemas.TypeFile {
			return fail(manager.KindInvalid, "%s: not a regular file", name)
		}
		if !add {
			at.node.data, at.node.mtime = nil, now()
		}
		out = &openFile{p, at.node}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// openFile is an open file that is appended to.
type openFile struct {
	proc *proc
	node *node
}

func (f *openFile) Write(chunk []byte) (int, error) {
	err := f.proc.touching(func() error {
		f.node.data = append(f.node.data, chunk...)
		f.node.mtime = now()
		return nil
	})
	return len(chunk), err
}
