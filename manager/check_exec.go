package manager

import (
	"encoding/base64"
	"io"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// checkExec turns a request into a command, all but its environment.
func (m *Manager) checkExec(req schemas.ExecRequest) (c Command, err error) {
	if c.Argv, err = checkCommand(req.Command); err != nil {
		return c, err
	}
	if c.Dir, err = checkWorkdir(req.Workdir); err != nil {
		return c, err
	}
	if err = checkEnv(req.Env); err != nil {
		return c, err
	}
	if c.Background, err = checkBackground(req); err != nil {
		return c, err
	}
	if c.Timeout, err = m.checkExecTimeout(req.TimeoutSeconds, c.Background != nil); err != nil {
		return c, err
	}
	c.Stdin, err = checkStdin(req.Stdin, req.StdinBase64)
	return c, err
}

// maxExecWait is how long a call may wait before it hands a command over.
const maxExecWait = 600 * time.Second

// checkBackground is nil for a command that the call sees to its end.
func checkBackground(req schemas.ExecRequest) (*Background, error) {
	if !req.Background && req.WaitSeconds == nil {
		return nil, nil
	}
	wait, err := checkWait(req.WaitSeconds, maxExecWait)
	return &Background{ID: schemas.NewExecID(), Wait: wait, Input: req.Background}, err
}

func checkWait(seconds *float64, most time.Duration) (time.Duration, error) {
	s := 0.0
	set(&s, seconds)
	if !(s >= 0 && s <= most.Seconds()) { // also refuses NaN
		return 0, invalid("wait_seconds is %v; allowed is 0 to %v", s, most.Seconds())
	}
	return time.Duration(s * float64(time.Second)), nil
}

// checkCommand gives the argument vector: a string goes to the shell, an array
// runs as it is.
func checkCommand(c schemas.Command) ([]string, error) {
	argv := c.Argv
	if len(argv) == 0 {
		if strings.TrimSpace(c.Shell) == "" {
			return nil, invalid("command is empty; it must be a shell command line, or an array that begins with a program")
		}
		argv = []string{"/bin/sh", "-c", c.Shell}
	}
	if argv[0] == "" {
		return nil, invalid("command begins with an empty string; its first element is the program to run")
	}
	for _, arg := range argv {
		if strings.ContainsRune(arg, 0) {
			return nil, invalid("command has a NUL byte, which no argument can hold")
		}
		if len(arg)+1 > maxArg {
			return nil, invalid("command has an argument of %d bytes; allowed are less than %d", len(arg), maxArg).
				hint("Write a long script to a file and run that, or pass it on standard input.")
		}
	}
	return argv, nil
}

func checkWorkdir(dir string) (string, error) {
	if dir == "" {
		return Workspace, nil
	}
	return cleanPath("workdir", dir)
}

// checkExecTimeout gives 0 for none: a command that may be handed over need not
// have one, for it holds nobody up.
func (m *Manager) checkExecTimeout(seconds *float64, handOver bool) (time.Duration, error) {
	s, most := m.cfg.DefaultExecTimeoutSeconds, m.cfg.MaxExecTimeoutSeconds
	if handOver {
		if seconds == nil {
			return 0, nil
		}
		most = max(most, float64(m.cfg.MaxTimeoutSeconds))
	}
	set(&s, seconds)
	if !(s > 0 && s <= most) { // also refuses NaN
		err := invalid("timeout_seconds is %v; allowed is more than 0 and at most %v, the server's limit for one command", s, most)
		switch {
		case s > most && handOver:
			err.Hint = "No sandbox is given a longer life at a time. Leave timeout_seconds out, and the command goes on until it ends or the sandbox does."
		case s > most:
			err.Hint = "Start longer work with background, or with wait_seconds: it goes on by itself then, and later calls look after it."
		}
		return 0, err
	}
	// A backend takes 0 for no timeout.
	return max(time.Duration(s*float64(time.Second)), time.Millisecond), nil
}

func checkStdin(text, encoded *string) (io.Reader, error) {
	switch {
	case text != nil && encoded != nil:
		return nil, invalid("stdin and stdin_base64 are both given; use one of them")
	case text != nil:
		return strings.NewReader(*text), nil
	case encoded != nil:
		data, err := base64.StdEncoding.DecodeString(*encoded)
		if err != nil {
			return nil, invalid("stdin_base64 is not base64: %v", err)
		}
		return strings.NewReader(string(data)), nil
	default:
		return nil, nil
	}
}

func checkEncoding(e schemas.Encoding) (schemas.Encoding, error) {
	switch e {
	case "":
		return schemas.EncodingUTF8, nil
	case schemas.EncodingUTF8, schemas.EncodingBase64:
		return e, nil
	default:
		return "", invalid("encoding is %.32q; allowed are %q and %q", string(e), schemas.EncodingUTF8, schemas.EncodingBase64)
	}
}

// outputCap is how many bytes of each stream a buffered exec keeps. Callers can
// only lower it.
func (m *Manager) outputCap(asked *int64) (int64, error) {
	if asked == nil {
		return m.cfg.MaxExecOutputBytes, nil
	}
	if *asked < 0 {
		return 0, invalid("max_output_bytes is %d; it must not be below 0", *asked)
	}
	return min(*asked, m.cfg.MaxExecOutputBytes), nil
}
