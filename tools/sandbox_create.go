package tools

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

var sandboxCreate = define(about{
	Name:  "sandbox_create",
	Title: "Create a sandbox",
	Description: `Creates a sandbox, an isolated Linux machine to run code in, and returns its id, which every other tool takes as sandbox_id.

All arguments are optional; with none you get {{if .DefaultImage}}the image {{.DefaultImage}}{{else}}the server's default image (with Python and common tools){{end}}, {{cpus .DefaultCPUs}}, {{.DefaultMemoryMB}} MiB memory, no network, and {{time .DefaultTimeoutSeconds}} to live.

- /workspace starts empty and is the working directory and HOME. It and /tmp are the only writable places.
- timeout_seconds is absolute: using the sandbox does not extend it. When it has passed, the sandbox and its files are destroyed. Ask for enough at the start, or extend with sandbox_set_timeout.
{{if .AllowNetwork}}- network: true is needed to download anything (pip install, git clone, curl). It is off by default.{{else}}- This server allows no network: nothing can be downloaded, and network: true is refused.{{end}}
- image is a container image{{if .AnyImage}} like python:3.12-slim or node:22{{else}}. Besides the default, this server allows only: {{.Images}}{{end}}. Another image than the default may have to be pulled first, which takes longer.
- env is seen by every command in the sandbox.
- At most {{.MaxSandboxes}} sandboxes exist at a time: use one for a whole task, and destroy it at the end.`,
	Hints: hints{OpenWorld: true},
}, func(ctx context.Context, c *call, in schemas.CreateSandboxRequest) (schemas.Sandbox, string, error) {
	s, err := c.Create(ctx, c.owner, in)
	return s, "created " + sandboxText(s), err
})
