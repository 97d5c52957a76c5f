package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	// pollSeconds is how long a server holds a call that has nothing to tell.
	pollSeconds = 30
	// A server that restarts is waited for.
	maxRetries = 20
	retryEvery = 500 * time.Millisecond
)

type logsCmd struct {
	Follow bool `short:"f" help:"Go on until the command ends, and end with its exit code."`

	Sandbox string `arg:"" complete:"sandboxes" help:"ID, beginning of an ID, or name."`
	Exec    string `arg:"" complete:"execs" help:"ID of the background command, or the beginning of it."`

	reach
}

// Help ends the page of --help.
func (*logsCmd) Help() string {
	return `Of each stream the last MiB is kept; standard error tells when more was written. Ctrl-C ends the watching, not the command. With -f, exit codes are those of exec. For example:

    job=$(mcp-sandbox exec -d $id 'make test')
    mcp-sandbox logs -f $id $job

With -o json it is one object, with output as text; see ExecState in the HTTP API. With -f it comes when the command has ended.`
}

// Run prints a background command's output.
func (c *logsCmd) Run(e *env) error { return troubled(c.run(e, c.logs)) }

func (c *logsCmd) logs(ctx context.Context, s *session) error {
	id, err := s.Sandbox(ctx, c.Sandbox)
	if err != nil {
		return err
	}
	exec, err := s.FindExec(ctx, id, c.Exec)
	if err != nil {
		return err
	}
	w := &watch{session: s, id: id, exec: exec, follow: c.Follow}
	if s.json {
		return w.whole(ctx)
	}
	return w.watch(ctx)
}

// watch reads one background command.
type watch struct {
	*session
	id     schemas.SandboxID
	exec   schemas.ExecID
	follow bool
}

// watch shows output as it comes.
func (w *watch) watch(ctx context.Context) error {
	for cursor := ""; ; {
		a, err := w.poll(ctx, cursor, true)
		if err != nil {
			return err
		}
		state := a.Value
		cursor = state.Cursor
		if err := w.showState(state); err != nil {
			return err
		}
		ended := state.Status != schemas.ExecRunning
		switch {
		case state.More:
		case ended && w.follow:
			return w.ended(exitOf(state.ExecInfo))
		case ended || !w.follow:
			return nil
		}
	}
}

// whole prints one answer; to follow is to wait for the last.
func (w *watch) whole(ctx context.Context) error {
	for cursor := ""; w.follow; {
		a, err := w.poll(ctx, cursor, false)
		if err != nil {
			return err
		}
		if cursor = a.Value.Cursor; a.Value.Status != schemas.ExecRunning {
			break
		}
	}
	a, err := w.poll(ctx, "", false)
	if err != nil {
		return err
	}
	if err := w.answer(a.JSON, ""); err != nil || !w.follow {
		return err
	}
	exit := exitOf(a.Value.ExecInfo)
	return codeOf(exit.ExitCode, exit.TimedOut)
}

// poll asks again when the server cannot answer for a moment: reading takes
// nothing away.
func (w *watch) poll(ctx context.Context, cursor string, exact bool) (client.Answer[schemas.ExecState], error) {
	wait := 0
	if w.follow && cursor != "" {
		wait = pollSeconds
	}
	for try := 0; ; try++ {
		a, err := w.Poll(ctx, w.id, w.exec, cursor, wait, exact)
		var e *client.Error
		if err == nil || !errors.As(err, &e) || !e.Body.Retryable || try == maxRetries || !w.follow {
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, context.Cause(ctx)
		case <-time.After(retryEvery):
		}
	}
}

func (w *watch) showState(state schemas.ExecState) error {
	if state.DroppedBytes > 0 {
		fmt.Fprintf(w.stderr, "mcp-sandbox: %d bytes of output before this are not kept\n", state.DroppedBytes)
	}
	return cmp.Or(w.showText(schemas.Stdout, state.Stdout), w.showText(schemas.Stderr, state.Stderr))
}

func (w *watch) showText(stream schemas.Stream, text string) error {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	if len(b) == 0 {
		return nil
	}
	return w.show(stream, b)
}

// exitOf is how a command ended.
func exitOf(x schemas.ExecInfo) (exit schemas.ExecExit) {
	exit.DurationMS = x.DurationMS
	if x.ExitCode != nil {
		exit.ExitCode = *x.ExitCode
	}
	if x.TimedOut != nil {
		exit.TimedOut = *x.TimedOut
	}
	if x.OOMKilled != nil {
		exit.OOMKilled = *x.OOMKilled
	}
	return exit
}
