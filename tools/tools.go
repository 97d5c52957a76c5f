package tools

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/mark3labs/mcp-go/server"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// all is every tool there is.
var all = []tool{
	sandboxCreate,
	sandboxList,
	sandboxSetTimeout,
	sandboxDestroy,

	execTool,
	execPoll,
	execInput,
	execKill,

	readFile,
	writeFile,
	editFile,
	listFiles,

	snapshotTool,
	snapshotList,
	snapshotDelete,
	forkTool,
	rollbackTool,
}

// instructions go into the model's context together with the tools. They are a
// template over [facts]. Claude Code cuts them at 2 KB.
const instructions = `Sandboxes are isolated Linux machines to run code in. Nothing you do in one touches the user's machine, and nothing on the user's machine can be seen from one: put files in with write_file, look at results with exec and read_file.

The loop:
1. sandbox_create makes a sandbox; keep its id and pass it as sandbox_id. Make one for a task and go on using it.
2. exec runs shell commands; write_file, edit_file, read_file and list_files work on its files. Keep your work under /workspace: the only place besides /tmp that is writable, and the only one that snapshots save.
3. snapshot before anything risky (an upgrade, a migration, a big refactoring). It is quick and costs little.
4. If it went wrong, rollback puts the same sandbox back. To try several ways at once, fork the snapshot into several sandboxes and keep the one that worked.
5. sandbox_destroy when you are done. Snapshots stay until snapshot_delete.

Good to know:
- Each exec is a new shell: working directory and variables do not carry over, files do. Chain with && or pass workdir and env.
- A command that takes long is not lost: exec hands it over to the background, and exec_poll follows it. Start servers, and programs to talk to, with background: true; exec_input types into them, exec_kill ends them.
- A sandbox lives {{time .DefaultTimeoutSeconds}} unless timeout_seconds says otherwise, however busy it is; then it is destroyed with its files. sandbox_set_timeout gives it more time, a snapshot keeps its files.
{{if .AllowNetwork}}- There is no network unless network was true at creation; then packages can be installed into a virtual environment or under /workspace.{{else}}- There is no network, and this server allows none: nothing can be downloaded.{{end}}
- Commands do not run as root, and cannot become root.
- A non-zero exit_code is a result, not a tool failure: read stderr. A tool failure names a code and a hint.`

// mcp-go says of an unknown tool "tool 'x' not found: " and then this, which is
// "tool not found" again. A model is better off with the names.
func init() {
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	server.ErrToolNotFound = errors.New("there are " + strings.Join(names, ", "))
}

// NewServer is an MCP server with every tool, resource and prompt, for any
// transport. It serves all protocol versions that mcp-go knows.
func NewServer(m *manager.Manager, version string, log *slog.Logger) *server.MCPServer {
	return newServer(m, version, log)
}

func newServer(m core, version string, log *slog.Logger) *server.MCPServer {
	f := facts{m.Config()}
	d := &door{core: m, log: log}
	s := server.NewMCPServer("mcp-sandbox", version,
		server.WithTitle("Sandboxes"),
		server.WithInstructions(f.render(instructions)),
		server.WithToolCapabilities(false), // the lists never change
		server.WithResourceCapabilities(false, false),
		server.WithPromptCapabilities(false),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completions{d}),
		server.WithResourceCompletionProvider(completions{d}),
		server.WithHooks(&server.Hooks{OnRequestInitialization: []server.OnRequestInitializationFunc{bounded}}),
	)
	for _, t := range all {
		s.AddTool(t.rendered(f), d.handler(t))
	}
	d.addResources(s)
	d.addPrompts(s)
	return s
}
