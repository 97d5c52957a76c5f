package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Exit codes of exec besides the command's own, as other tools have them.
const (
	exitTimedOut = 124 // as timeout(1)
	exitTrouble  = 125 // as docker exec: the command was not seen to its end
)

// maxInput is how much standard input a command can be given: what fits into a
// request.
const maxInput = 6 << 20

type execCmd struct {
	Workdir string            `short:"w" placeholder:"DIR" help:"Directory to run in. Default /workspace."`
	Env     map[string]string `short:"e" type:"pairs" placeholder:"NAME=VALUE" help:"Environment variable for this command. May be repeated. With NAME alone, its value here."`
	Timeout *time.Duration    `type:"span" placeholder:"TIME" help:"Kill the command, and all it started, after this long, as 500ms, 90s or 1h. Default: the server's, which is 1m unless set."`
	Detach  bool              `short:"d" help:"Start the command and print the ID by which logs, ps and kill know it. It goes on when nobody watches, without a time limit unless one is given."`
	Stdin   bool              `short:"i" name:"stdin" help:"Give the command what comes on standard input, up to 6 MiB, read to its end first. Without it the command's input is empty."`

	Sandbox string   `arg:"" complete:"sandboxes" help:"ID, beginning of an ID, or name."`
	Command []string `arg:"" type:"words" passthrough:"partial" help:"A program and its arguments, run as they are; or, as a single argument without -- before it, a line for the shell."`

	reach
}

// Help ends the page of --help.
func (*execCmd) Help() string {
	return `The command's output arrives while it runs, byte for byte, and its exit code is this one's; for example:

    mcp-sandbox exec $id 'make test 2>&1 | tail'
    mcp-sandbox exec -w src $id -- go build ./...
    mcp-sandbox exec -i $id 'tar xz' < src.tar.gz
    job=$(mcp-sandbox exec -d $id ./server) && mcp-sandbox logs -f $id $job

Other exit codes: 124 when it ran out of time; 125 when it was not seen to its end, or not started, which standard error explains; 126 and 127 when it is no program, or not there; 130 after Ctrl-C, which kills it and all it started, as does anything that ends this process.

With -o json it is one object, with output as text, when the command has ended; see ExecResult in the HTTP API. The exit code is the command's then too.`
}

// Run runs a command.
func (c *execCmd) Run(e *env) error { return troubled(c.run(e, c.exec)) }

// troubled gives what is not the command's failure a code of its own.
func troubled(err error) error {
	var ended commandEnded
	var signal interrupted
	if err == nil || errors.As(err, &ended) || errors.As(err, &signal) || readerGone(err) {
		return err
	}
	return failure{exitTrouble, err}
}

func (c *execCmd) exec(ctx context.Context, s *session) error {
	id, err := s.Sandbox(ctx, c.Sandbox)
	if err != nil {
		return err
	}
	r := schemas.ExecRequest{Workdir: c.Workdir, Env: c.Env}
	if r.Command, err = command(c.Command); err != nil {
		return err
	}
	if c.Timeout != nil {
		n := c.Timeout.Seconds()
		r.TimeoutSeconds = &n
	}
	if c.Stdin {
		if r.StdinBase64, err = readInput(ctx, s.stdin); err != nil {
			return err
		}
	}
	switch {
	case c.Detach:
		return s.execDetached(ctx, id, r)
	case s.json:
		return s.execWhole(ctx, id, r)
	}
	exit, err := s.ExecStream(ctx, id, r, s.show)
	if err != nil {
		return err
	}
	return s.ended(exit)
}

// command is a line for the shell where it is one argument; after -- it never is.
func command(words []string) (schemas.Command, error) {
	explicit := words[0] == "--"
	if explicit {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return schemas.Command{}, client.Invalid("mcp-sandbox exec --help has examples.", "there is no command after --")
	case len(words) == 1 && !explicit:
		return schemas.Command{Shell: words[0]}, nil
	}
	return schemas.Command{Argv: words}, nil
}

// readInput reads to the end, unless ctx ends first.
func readInput(ctx context.Context, r io.Reader) (*string, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
		done <- read{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case in := <-done:
		if in.err != nil {
			return nil, fmt.Errorf("read standard input: %w", in.err)
		}
		if len(in.data) > maxInput {
			return nil, client.Invalid("Copy it first, by mcp-sandbox cp - SANDBOX:FILE, and have the command read the file.",
				"standard input is larger than %d bytes", maxInput)
		}
		encoded := base64.StdEncoding.EncodeToString(in.data)
		return &encoded, nil
	}
}

// show passes output on, each stream to its own.
func (s *session) show(stream schemas.Stream, b []byte) error {
	w := s.stdout
	if stream == schemas.Stderr {
		w = s.stderr
	}
	if _, err := w.Write(b); err != nil {
		return &outputError{err}
	}
	return nil
}

func (s *session) execWhole(ctx context.Context, id schemas.SandboxID, r schemas.ExecRequest) error {
	result, err := s.Exec(ctx, id, r)
	if err != nil {
		return err
	}
	if err := s.answer(result.JSON, ""); err != nil {
		return err
	}
	return codeOf(result.Value.ExitCode, result.Value.TimedOut)
}

func (s *session) execDetached(ctx context.Context, id schemas.SandboxID, r schemas.ExecRequest) error {
	if r.StdinBase64 == nil {
		r.Stdin = new(string) // else it would stay open, for input that nobody can give
	}
	state, err := s.ExecInBackground(ctx, id, r)
	if err != nil {
		return err
	}
	return s.answer(state.JSON, string(state.Value.ExecID))
}

// ended says what an exit code does not tell.
func (s *session) ended(exit schemas.ExecExit) error {
	if exit.TimedOut {
		took := time.Duration(exit.DurationMS) * time.Millisecond
		fmt.Fprintf(s.stderr, "mcp-sandbox: the command ran out of time after %v and was killed (--timeout sets how long it may take)\n", took.Round(100*time.Millisecond))
	} else if exit.OOMKilled {
		fmt.Fprintln(s.stderr, "mcp-sandbox: a process of the command was killed, as the sandbox has no more memory")
	}
	return codeOf(exit.ExitCode, exit.TimedOut)
}

func codeOf(code int, timedOut bool) error {
	switch {
	case timedOut:
		return failure{exitTimedOut, commandEnded{}}
	case code != 0:
		return failure{code, commandEnded{}}
	}
	return nil
}

// commandEnded is a failure of the command, which has said itself what it was.
type commandEnded struct{}

func (commandEnded) Error() string { return "" }
