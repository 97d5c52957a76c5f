// Command field writes what test runs said about the field cases into the table
// of docs/field-cases.md: for each case, the tests that carry its ID in their name,
// and whether they passed.
//
//	go test -json ./... | go run ./e2e/field docs/field-cases.md
//
// It passes on what the tests printed. Its exit code is 1 when a case has failed or
// has no test, and has no reason beside it why it needs none.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json ./... | field docs/field-cases.md")
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "field:", err)
		os.Exit(1)
	}
}

func run(events io.Reader, output io.Writer, page string) error {
	found, err := read(events, output)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, bad := rewrite(string(old), found)
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		return err
	}
	return errors.Join(bad...)
}

// event is a line of `go test -json`: see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
}

// read collects the outcome of every test, and copies what was printed.
func read(events io.Reader, output io.Writer) (cases, error) {
	found := cases{}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(output, lines.Text()) // the go command's own words
			continue
		}
		switch e.Action {
		case "output":
			io.WriteString(output, e.Output)
		case "pass", "fail", "skip":
			if e.Test != "" {
				found.add(e)
			}
		}
	}
	return found, lines.Err()
}
