package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// demo is the state of the story.
type demo struct {
	ctx    context.Context
	out    io.Writer
	image  string
	client *client.Client

	box   schemas.Sandbox
	snap  schemas.Snapshot
	forks []schemas.Sandbox
	tree  string // checksum of the workspace when the snapshot was taken
	steps int
}

// chapter is one step: it returns what there is to say, or what is wrong.
type chapter struct {
	title string
	run   func() (string, error)
}

func (d *demo) start(o client.Options) error {
	return d.play(chapter{"Start the server", func() (string, error) {
		c, err := client.Start(d.ctx, o)
		if err != nil {
			return "", err
		}
		d.client = c
		return fmt.Sprintf("%s %s, MCP %s", c.Info.ServerInfo.Name, c.Info.ServerInfo.Version, c.Info.ProtocolVersion), nil
	}})
}

func (d *demo) tell() error {
	for _, c := range []chapter{
		{"Create a sandbox", d.create},
		{"Write two files", d.write},
		{"Run the build, watching", d.build},
		{"Take a snapshot", d.takeSnapshot},
		{"Break everything", d.breakThings},
		{"Roll back", d.rollBack},
		{"Fork three ways", d.fork},
		{"Try three things at once", d.tryAll},
		{"Clean up", d.cleanUp},
	} {
		if err := d.play(c); err != nil {
			return err
		}
	}
	return nil
}

// play runs a chapter and prints its line: number, title, time, result.
func (d *demo) play(c chapter) error {
	d.steps++
	began := time.Now()
	said, err := c.run()
	if err != nil {
		return fmt.Errorf("step %d, %q: %w", d.steps, c.title, err)
	}
	fmt.Fprintf(d.out, "%2d  %-26s %7s   %s\n", d.steps, c.title, seconds(time.Since(began)), said)
	return nil
}

// aside prints a line of what happens during a step.
func (d *demo) aside(format string, a ...any) {
	fmt.Fprintf(d.out, "      | %s\n", fmt.Sprintf(format, a...))
}

func seconds(t time.Duration) string { return fmt.Sprintf("%.2f s", t.Seconds()) }
