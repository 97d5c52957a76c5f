package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-sandbox/mcp-sandbox/cmd/mcp-sandbox/internal/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// complain says on standard error why a command failed: in a line, and a second
// one for what to do, or as the error body that the server's own would be.
func (e *env) complain(err error) {
	var all several
	if errors.As(err, &all) {
		for _, one := range all {
			e.complain(one)
		}
		return
	}
	text := err.Error()
	if text == "" || silent(err) {
		return
	}
	body := schemas.Error{Code: schemas.CodeInternal, Message: text}
	var failed *client.Error
	if errors.As(err, &failed) {
		body = failed.Body
	}
	if e.json {
		line, _ := json.Marshal(schemas.ErrorBody{Error: body}) // strings and a bool
		fmt.Fprintf(e.stderr, "%s\n", line)
		return
	}
	fmt.Fprintln(e.stderr, "mcp-sandbox:", oneLine(body.Message))
	// Who types flags has no request to correct by the API's document.
	if body.Hint != "" && !strings.Contains(body.Hint, "/v1/openapi.json") {
		fmt.Fprintln(e.stderr, "hint:", oneLine(commandWords.Replace(body.Hint)))
	}
}

// commandWords puts commands and flags into hints that the server gives to all of
// its callers. In -o json they stay the API's.
var commandWords = strings.NewReplacer(
	"Start longer work with background, or with wait_seconds: it goes on by itself then, and later calls look after it.", "Start longer work with -d: it goes on by itself then, and mcp-sandbox logs, ps and kill look after it.",
	"Leave timeout_seconds out", "Leave --timeout out",
	"Poll it to see how it ended", "mcp-sandbox ps shows how it ended",
	"List the sandbox's background execs and kill those", "mcp-sandbox ps lists them; mcp-sandbox kill those",
	"List sandboxes, or create a new one", "mcp-sandbox ls shows what there is, mcp-sandbox create makes a new one",
	"List snapshots to see", "mcp-sandbox ls -s shows",
)

func oneLine(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ") }

// silent is what needs no word: a signal, and a reader that has gone.
func silent(err error) bool {
	var i interrupted
	return errors.As(err, &i) || readerGone(err)
}

func readerGone(err error) bool {
	var o *outputError
	return errors.As(err, &o) && errors.Is(o.err, syscall.EPIPE)
}

// signalled is the exit code of a command that a signal ended, as a shell has it.
func signalled(s syscall.Signal) int { return 128 + int(s) }

// several are failures of one command that each are told by themselves.
type several []error

func (s several) Error() string   { return errors.Join(s...).Error() }
func (s several) Unwrap() []error { return s }

// severalOf is nil where there are none.
func severalOf(all []error) error {
	all = slices.DeleteFunc(all, func(err error) bool { return err == nil })
	if len(all) == 0 {
		return nil
	}
	return several(all)
}
