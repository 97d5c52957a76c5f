package tools

import (
	"context"
	"fmt"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var sandboxList = define(about{
	Name:  "sandbox_list",
	Title: "List sandboxes",
	Description: `Lists the sandboxes that exist now, oldest first, with id, image, status and expiry.

Use it to find a sandbox again, or to see which ones to destroy when the limit is reached. A sandbox that is not in the list has expired or was destroyed. Status stopped is fine: the next use starts it again with its files. Status failed means that its files are lost: only rollback and sandbox_destroy work.`,
	Hints: hints{ReadOnly: true, Idempotent: true},
}, func(ctx context.Context, c *call, in schemas.PageArgs) (schemas.SandboxList, string, error) {
	return listed(in, 50, sandboxListText, func(p schemas.Page) (schemas.SandboxList, error) {
		return c.List(ctx, c.owner, p)
	})
})

func sandboxListText(l schemas.SandboxList) string {
	return listText("sandboxes", l.Sandboxes, l.NextCursor, sandboxText)
}

func sandboxText(s schemas.Sandbox) string {
	network := "no network"
	if s.Network {
		network = "network"
	}
	text := fmt.Sprintf("%s%s: %s, image %s, CPUs %g, memory %d MiB, %s, expires %s",
		s.ID, label(s.Name), s.Status, s.Image, s.CPUs, s.MemoryMB, network, when(s.ExpiresAt))
	if s.SourceSnapshotID != nil {
		text += ", from " + string(*s.SourceSnapshotID)
	}
	return text
}
