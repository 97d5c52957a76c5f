package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes. They are part of the interface: --help lists them. Those of exec
// and shell are in exec.go.
const (
	exitOK      = 0
	exitProblem = 1 // a command failed, or doctor found something
	exitUsage   = 2 // bad flag or setting; nothing was started
	exitHeld    = 3 // another server holds the data directory
)

// commands is the grammar of the command line.
type commands struct {
	Serve serveCmd `cmd:"" group:"servers" help:"Serve the HTTP API and MCP over HTTP, for many clients, until it is told to end."`
	Stdio stdioCmd `cmd:"" group:"servers" help:"Serve MCP over standard input and output, for a client that starts the server itself. Forward to the server that holds the data directory, if there is one."`

	Create   createCmd   `cmd:"" group:"use" help:"Create a sandbox and print its ID."`
	Ls       lsCmd       `cmd:"" group:"use" help:"List sandboxes, or snapshots."`
	Exec     execCmd     `cmd:"" group:"use" help:"Run a command in a sandbox, with its output as it comes and its exit code."`
	Shell    shellCmd    `cmd:"" group:"use" help:"Work in a sandbox by a terminal."`
	Ps       psCmd       `cmd:"" group:"use" help:"List the background commands of a sandbox."`
	Logs     logsCmd     `cmd:"" group:"use" help:"Print the output of a background command, and follow it to its end."`
	Kill     killCmd     `cmd:"" group:"use" help:"Kill a background command, or send it a signal."`
	Cp       cpCmd       `cmd:"" group:"use" help:"Copy files between this machine and a sandbox."`
	Snapshot snapshotCmd `cmd:"" group:"use" help:"Save a sandbox's /workspace and print the snapshot's ID."`
	Fork     forkCmd     `cmd:"" group:"use" help:"Create sandboxes from a snapshot, or from a sandbox as it is now, and print their IDs."`
	Rollback rollbackCmd `cmd:"" group:"use" help:"Put a sandbox back to a snapshot."`
	Timeout  timeoutCmd  `cmd:"" group:"use" help:"Give a sandbox a new time to live, counted from now."`
	Rm       rmCmd       `cmd:"" group:"use" help:"Remove sandboxes and snapshots."`

	Doctor  doctorCmd  `cmd:"" group:"more" help:"Check Docker, the default image and the data directory; say how to mend what is wrong."`
	OpenAPI openapiCmd `cmd:"" group:"more" name:"openapi" help:"Print the OpenAPI document of the HTTP API."`
	Version versionCmd `cmd:"" group:"more" help:"Print the version, and what this program was built from."`

	Setup      setupCmd      `cmd:"" group:"more" help:"Print what makes an MCP client use this program, or put it into the client's file: Claude Code, Claude Desktop, Cursor, VS Code."`
	Completion completionCmd `cmd:"" group:"more" help:"Print a script by which bash, zsh or fish completes this command's line."`
	Complete   completeCmd   `cmd:"" name:"__complete" hidden:"" passthrough:"" help:"What such a script asks."`
}

// env is the world as the subcommands see it.
type env struct {
	args           commandLine
	lookup         func(string) (string, bool)
	stdin          io.Reader
	stdout, stderr io.Writer

	command string // the subcommand
	json    bool   // failures are said in JSON
}

// run is the whole program but for the process around it.
func run(args []string, lookup func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) int {
	e := &env{args: args, lookup: lookup, stdin: stdin, stdout: stdout, stderr: stderr}
	err := e.dispatch()
	if err == nil {
		return exitOK
	}
	e.complain(err)
	return exitCode(err)
}

func (e *env) dispatch() (err error) {
	defer recoverExit(&err)
	parser, err := e.parser()
	if err != nil {
		return err
	}
	ctx, err := parser.Parse(e.args)
	if err != nil {
		return e.usageError(err)
	}
	e.command, _, _ = strings.Cut(ctx.Command(), " ")
	return ctx.Run(e)
}

func (e *env) parser() (*kong.Kong, error) {
	options := []kong.Option{
		kong.Name("mcp-sandbox"),
		kong.Description(description),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(code int) { panic(exitRequest(code)) }),
		kong.ExplicitGroups(helpGroups),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100, NoExpandSubcommands: true}),
		kong.ValueFormatter(describe),
		kong.Resolvers(e.fromEnvironment()),
		kong.PostBuild(hideSettings),
	}
	options = append(options, mappers()...)
	return kong.New(&commands{}, append(options, argumentMappers()...)...)
}

// usageError puts what is wrong with the command line or a setting in one line.
func (e *env) usageError(err error) error {
	code, command := exitUsage, ""
	if p := (*kong.ParseError)(nil); errors.As(err, &p) && p.Context.Selected() != nil {
		command = p.Context.Selected().Name + " "
	}
	if command == "exec " || command == "logs " || command == "shell " {
		code = exitTrouble // the others are their command's
	}
	if bad := (*badValue)(nil); errors.As(err, &bad) {
		return failure{code, fmt.Errorf("%s=%.200q: must be %s", bad.name(e.args), bad.value, bad.allowed)}
	}
	return failure{code, fmt.Errorf("%w (see mcp-sandbox %s--help)", err, command)}
}

// failure is an error that has its own exit code.
type failure struct {
	code int
	err  error
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

func exitCode(err error) int {
	var signal interrupted
	switch {
	case errors.As(err, &signal):
		return signalled(signal.signal)
	case readerGone(err):
		return signalled(syscall.SIGPIPE)
	}
	if f := (failure{}); errors.As(err, &f) {
		return f.code
	}
	return exitProblem
}

// exitRequest is how kong ends after it has printed help.
type exitRequest int

func recoverExit(err *error) {
	switch r := recover().(type) {
	case nil:
	case exitRequest:
		*err = nil
		if r != 0 {
			*err = failure{int(r), errors.New("")}
		}
	default:
		panic(r)
	}
}
