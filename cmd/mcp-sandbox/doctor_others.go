package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// maxOthers is how many other servers are told of.
const maxOthers = 10

// checkOthers tells what stopped sandboxes of other servers Docker has. A data
// directory that was deleted leaves them: they ended by their own deadline, and
// nobody may remove them but an operator who knows that it is gone.
func (d *doctor) checkOthers(ctx context.Context) {
	log := slog.New(slog.DiscardHandler)
	instance, err := manager.InstanceID(d.DataDir, log)
	if err != nil {
		return // that has its own line
	}
	backend, err := dockerbackend.New(d.backendConfig(instance, log))
	if err != nil {
		return
	}
	defer backend.Close()
	others, err := backend.Others(ctx)
	if err != nil {
		d.problem("other servers", message(err), cmp.Or(hint(err), "see what docker ps -a says"))
		return
	}
	told := 0
	for _, o := range others {
		if o.Running > 0 {
			continue // its server lives, or did a moment ago
		}
		if told++; told > maxOthers {
			d.note("other servers", "there are more")
			return
		}
		d.noteOther(o)
	}
}

func (d *doctor) noteOther(o dockerbackend.Other) {
	text := fmt.Sprintf("%q left %d containers, none running, and %d volumes", o.Instance, o.Containers, o.Volumes)
	if !o.Newest.IsZero() {
		text += ", the newest of " + o.Newest.UTC().Format(time.DateOnly)
	}
	if remove := o.Remove(); remove != "" {
		text += "; if no data directory of that server is left anywhere -> " + remove
	}
	d.note("other servers", text)
}
