package backendtest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// ls prints names, one a line.
func ls(p *proc, args []string) int {
	at, err := p.find(append(args, ".")[0])
	if err != nil {
		return p.failed(err)
	}
	var names []string
	_ = p.touching(func() error {
		names = slices.Sorted(maps.Keys(at.node.children))
		return nil
	})
	return p.print(strings.Join(append(names, ""), "\n"))
}

func touch(p *proc, args []string) int {
	for _, name := range args {
		if _, err := p.redirect(name, true); err != nil {
			return p.failed(err)
		}
	}
	return 0
}

func mkdir(p *proc, args []string) int {
	parents := len(args) > 0 && args[0] == "-p"
	if parents {
		args = args[1:]
	}
	for _, name := range args {
		if !parents {
			if err := p.create(name, newDir(0o755)); err != nil {
				return p.failed(err)
			}
			continue
		}
		err := p.touching(func() error {
			_, err := p.root.mkdirAll(p.abs(name))
			return err
		})
		if err != nil {
			return p.failed(err)
		}
	}
	return 0
}

// rm understands -r, -f and -rf.
func rm(p *proc, args []string) int {
	options := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		options, args = args[0], args[1:]
	}
	for _, name := range args {
		err := p.touching(func() error { return p.root.remove(p.abs(name), strings.Contains(options, "r")) })
		if manager.KindOf(err) == manager.KindNotFound && strings.Contains(options, "f") {
			continue
		}
		if err != nil {
			return p.failed(err)
		}
	}
	return 0
}

// ln makes a hard link, or with -s a symbolic one.
func ln(p *proc, args []string) int {
	if len(args) == 3 && args[0] == "-s" {
		return p.failed(p.create(args[2], &node{typ: schemas.TypeSymlink, mode: 0o777, mtime: now(), target: args[1]}))
	}
	if len(args) != 2 {
		return p.fail(1, "ln: only [-s] FROM TO is known")
	}
	at, err := p.find(args[0])
	if err != nil {
		return p.failed(err)
	}
	return p.failed(p.create(args[1], at.node))
}

func mkfifo(p *proc, args []string) int {
	for _, name := range args {
		if err := p.create(name, &node{typ: schemas.TypeOther, mode: 0o644, mtime: now()}); err != nil {
			return p.failed(err)
		}
	}
	return 0
}

// chmod understands octal modes only.
func chmod(p *proc, args []string) int {
	if len(args) != 2 {
		return p.fail(1, "chmod: only MODE FILE is known")
	}
	mode, err := strconv.ParseUint(args[0], 8, 32)
	if err != nil {
		return p.fail(1, "chmod: invalid mode %s", args[0])
	}
	at, err := p.find(args[1])
	if err == nil {
		err = p.touching(func() error {
			at.node.mode = uint32(mode)
			return nil
		})
	}
	return p.failed(err)
}

// test understands -e, -f, -d and -s of one file.
func test(p *proc, args []string) int {
	if len(args) != 2 {
		return p.fail(2, "test: only -e, -f, -d, -s FILE is known")
	}
	at, err := p.find(args[1])
	ok := err == nil
	switch args[0] {
	case "-f":
		ok = ok && at.node.typ == schemas.TypeFile
	case "-d":
		ok = ok && at.node.isDir()
	case "-s":
		ok = ok && len(at.node.data) > 0
	}
	if ok {
		return 0
	}
	return 1
}
