package e2e

import (
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// asksForMore: resources, prompts and completions, of real files.
func asksForMore(b *sandbox) {
	b.must("mkdir -p asked; printf 'caf\\303\\251\\n' > 'asked/a b.txt'; printf '\\377\\000' > asked/bytes; ln -s /etc/hostname asked/link; mkfifo asked/fifo")
	read := func(path string) (mcp.ResourceContents, error) {
		r, err := b.MCP.ReadResource(ctx(b.t), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: "sandbox://" + string(b.ID) + "/" + path}})
		if err != nil {
			return nil, err
		}
		return r.Contents[0], nil
	}
	for path, want := range map[string]string{"asked/a%20b.txt": "café\n", "/workspace/asked/a%20b.txt": "café\n", "workspace/asked/link": "sandbox\n"} {
		if c, err := read(path); err != nil || c.(mcp.TextResourceContents).Text != want {
			b.t.Errorf("%s: %+v, %v", path, c, err)
		}
	}
	if c, err := read("asked/bytes"); err != nil || c.(mcp.BlobResourceContents).Blob != "/wA=" {
		b.t.Errorf("bytes: %+v, %v", c, err)
	}
	for path, want := range map[string]string{"asked/none": "not_found", "asked/fifo": "invalid_request", "asked": "invalid_request", "/proc/1/environ": "forbidden"} {
		if c, err := read(path); err == nil || !strings.Contains(err.Error(), want) {
			b.t.Errorf("%s: %+v, %v; want %s", path, c, err, want)
		}
	}
	list, err := b.MCP.ReadResource(ctx(b.t), mcp.ReadResourceRequest{Params: mcp.ReadResourceParams{URI: "sandbox://sandboxes"}})
	if err != nil || !strings.Contains(list.Contents[0].(mcp.TextResourceContents).Text, string(b.ID)) {
		b.t.Errorf("sandboxes: %+v, %v", list, err)
	}
	p, err := b.MCP.GetPrompt(ctx(b.t), mcp.GetPromptRequest{Params: mcp.GetPromptParams{
		Name: "try_safely", Arguments: map[string]string{"task": "Upgrade it.", "sandbox_id": string(b.ID)},
	}})
	if err != nil || !strings.Contains(p.Messages[0].Content.(mcp.TextContent).Text, string(b.ID)) {
		b.t.Errorf("prompt: %+v, %v", p, err)
	}
	done, err := b.MCP.Complete(ctx(b.t), mcp.CompleteRequest{Params: mcp.CompleteParams{
		Ref:      mcp.ResourceReference{Type: "ref/resource", URI: "sandbox://{sandbox_id}/{+path}"},
		Argument: mcp.CompleteArgument{Name: "path", Value: "asked/"},
		Context:  mcp.CompleteContext{Arguments: map[string]string{"sandbox_id": string(b.ID)}},
	}})
	if want := []string{"asked/a b.txt", "asked/bytes", "asked/fifo", "asked/link"}; err != nil || !slices.Equal(done.Completion.Values, want) {
		b.t.Errorf("completion: %+v, %v; want %q", done, err, want)
	}
	b.must("rm -r asked")
}

// noPlace: commands run also while none can go on in the background.
func noPlace(b *sandbox) {
	full := b.create()
	for range 32 {
		call[schemas.ExecOutcome](b.server, "exec", args{"sandbox_id": full.ID, "command": "sleep 100", "background": true})
	}
	full.refuse("exec", args{"sandbox_id": full.ID, "command": "true", "background": true}, schemas.CodeLimitExceeded)
	if out := full.must("echo still"); out != "still\n" {
		b.t.Errorf("got %q", out)
	}
	check(b.t, b.destroy(full.ID))
}
