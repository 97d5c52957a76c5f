package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Exit codes by which a shell says that a command could not be run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// notRun is a command that could not be run for a reason that a shell would
// report on standard error: the exec itself succeeds, with an exit code.
type notRun struct {
	code    int
	message string
}

func (e *notRun) Error() string { return e.message }

// lookup finds the program for name as execvp would, relative to dir, with the
// PATH in env.
func lookup(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		path := within(dir, name)
		return path, executable(name, path)
	}
	failure := error(&notRun{exitNotFound, name + ": not found"})
	for _, entry := range filepath.SplitList(pathOf(env)) {
		path := filepath.Join(within(dir, entry), name)
		err := executable(name, path)
		if err == nil {
			return path, nil
		}
		var e *notRun
		if errors.As(err, &e) && e.code == exitNotExecutable {
			failure = err // a later entry may still have one that can be run
		}
	}
	return "", failure
}

// workdir finds the directory that path leads to by the text of its links.
// Following them as the kernel does would take the guest through some that a
// command may not use, those of /proc that are the guest's own.
func workdir(path string) (string, error) {
	dir, err := filepath.EvalSymlinks(path)
	if err == nil {
		err = enterable(dir)
	}
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return "", &protocol.Error{Code: protocol.ErrInvalid, Message: fmt.Sprintf("workdir %s: %v", path, err)}
	}
	return dir, nil
}

func enterable(dir string) error {
	var st unix.Stat_t
	err := unix.Stat(dir, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err == nil {
		err = unix.Access(dir, unix.X_OK)
	}
	return err
}

// executable says what would keep path from being run, in a shell's words.
func executable(name, path string) error {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ENAMETOOLONG || name == "":
		return &notRun{exitNotFound, name + ": not found"}
	case err != nil:
		return &notRun{exitNotExecutable, fmt.Sprintf("%s: %v", name, err)}
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return &notRun{exitNotExecutable, name + ": is a directory"}
	case unix.Access(path, unix.X_OK) != nil:
		return &notRun{exitNotExecutable, name + ": permission denied"}
	}
	return nil
}

// execError translates what the kernel says about a program that lookup found.
func execError(name string, err error) error {
	var refused *protocol.Error
	if errors.As(err, &refused) {
		return err
	}
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM):
		return &protocol.Error{Code: protocol.ErrNoProcesses, Message: "the sandbox's process limit or memory is used up"}
	case errors.Is(err, unix.E2BIG):
		return &protocol.Error{Code: protocol.ErrInvalid, Message: "argv and env are too long for the kernel"}
	case errors.Is(err, unix.EINVAL):
		return &protocol.Error{Code: protocol.ErrInvalid, Message: "argv, env or workdir: a NUL byte, or not a program"}
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return &protocol.Error{Code: protocol.ErrBusy, Message: "too many open files"}
	case errors.Is(err, unix.ENOENT): // it was there a moment ago
		return &notRun{exitNotExecutable, name + ": bad interpreter: not found"}
	}
	return &notRun{exitNotExecutable, fmt.Sprintf("%s: %v", name, err)}
}

// pathOf is the last PATH in env, or what shells use without one.
func pathOf(env []string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if path, ok := strings.CutPrefix(env[i], "PATH="); ok {
			return path
		}
	}
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

// within resolves a path as if dir were the working directory.
func within(dir, path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return dir + "/" + path
}
