package schemas

import (
	"encoding/json"

	"github.com/invopop/jsonschema"
)

// The arguments of the MCP tools: the REST request with the IDs that REST has in
// its paths, in one flat object.

// InSandbox names the sandbox that a tool works on.
type InSandbox struct {
	SandboxID SandboxID `json:"sandbox_id" jsonschema_description:"The sandbox, as sandbox_create or fork returned it."`
}

// PageArgs select part of a list.
type PageArgs struct {
	Limit  *int   `json:"limit,omitempty" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"Most entries to return. A page may hold fewer, to keep its size down."`
	Cursor string `json:"cursor,omitempty" jsonschema_description:"next_cursor of the page before."`
}

// SetTimeoutArgs of sandbox_set_timeout.
type SetTimeoutArgs struct {
	InSandbox
	SetTimeoutRequest
}

// ExecArgs of exec. A flat schema cannot say "a string or an array", so the two
// forms of a command are two fields; exactly one is given.
type ExecArgs struct {
	InSandbox
	Command        *CommandArg       `json:"command,omitempty" jsonschema_description:"Shell command line, run with /bin/sh -c. Give this or argv."`
	Argv           []string          `json:"argv,omitempty" jsonschema_description:"Program and arguments, each an element, run without a shell: [\"git\", \"commit\", \"-m\", \"it's done\"]. Give this or command."`
	Workdir        string            `json:"workdir,omitempty" jsonschema_description:"Directory to run in. Default /workspace."`
	Env            map[string]string `json:"env,omitempty" jsonschema_description:"Environment variables for this command only, as {\"PORT\": \"8080\"}."`
	WaitSeconds    *float64          `json:"wait_seconds,omitempty" jsonschema:"minimum=0,maximum=600" jsonschema_description:"How long to wait for the end; then the command goes on in the background. Default 45, with background 0."`
	Background     bool              `json:"background,omitempty" jsonschema_description:"Leave it running in the background and return at once, with an exec_id. Its standard input stays open for exec_input unless stdin is given. Default false."`
	TimeoutSeconds *float64          `json:"timeout_seconds,omitempty" jsonschema:"minimum=0" jsonschema_description:"After this long, counted from its start, the command and all it started are killed. More than 0, fractions are allowed. Default: none."`
	Stdin          *string           `json:"stdin,omitempty" jsonschema_description:"Text for standard input. Without it the command reads end of file at once, unless background is true."`
	StdinBase64    *string           `json:"stdin_base64,omitempty" jsonschema_description:"Bytes for standard input in base64, instead of stdin."`
	OutputArgs
}

// OutputArgs say how to return a command's output.
type OutputArgs struct {
	Encoding       Encoding `json:"encoding,omitempty" jsonschema:"enum=utf-8,enum=base64" jsonschema_description:"utf-8 (default) replaces invalid bytes of the output by U+FFFD; base64 keeps every byte, from the start only when truncated."`
	MaxOutputBytes *int64   `json:"max_output_bytes,omitempty" jsonschema:"minimum=0,maximum=200000" jsonschema_description:"Most bytes of stdout and of stderr to return, each. Default 20000."`
}

// ExecPollArgs of exec_poll.
type ExecPollArgs struct {
	InSandbox
	ExecID      ExecID   `json:"exec_id,omitempty" jsonschema_description:"The command, as exec returned it. Leave it out to list the sandbox's background commands."`
	Cursor      string   `json:"cursor,omitempty" jsonschema_description:"cursor of the last result for this command, to get only newer output. Default: from the start, as far as it is kept."`
	WaitSeconds *float64 `json:"wait_seconds,omitempty" jsonschema:"minimum=0,maximum=60" jsonschema_description:"How long to wait for the command to end, 0 to 60. Default 30."`
	OutputArgs
}

// ExecInputArgs of exec_input.
type ExecInputArgs struct {
	InSandbox
	ExecID      ExecID   `json:"exec_id" jsonschema_description:"The command, as exec returned it."`
	Input       *string  `json:"input,omitempty" jsonschema_description:"Text to write to its standard input. End a line with a newline, or the program goes on waiting for it."`
	InputBase64 *string  `json:"input_base64,omitempty" jsonschema_description:"Bytes to write in base64, instead of input."`
	End         bool     `json:"end,omitempty" jsonschema_description:"End the standard input after this: the program reads end of file. Default false."`
	Cursor      string   `json:"cursor,omitempty" jsonschema_description:"cursor of the last result for this command. Default: only output that comes after the input."`
	WaitSeconds *float64 `json:"wait_seconds,omitempty" jsonschema:"minimum=0,maximum=60" jsonschema_description:"How long to wait for an answer at most, 0 to 60. Default 2."`
	OutputArgs
}

// ExecKillArgs of exec_kill.
type ExecKillArgs struct {
	InSandbox
	ExecID ExecID `json:"exec_id" jsonschema_description:"The command, as exec returned it."`
	Signal string `json:"signal,omitempty" jsonschema_description:"Send just this signal to its process group, by name: INT (as Ctrl-C), TERM, HUP, USR1, … By default it is killed with all it started."`
}

// CommandArg is a [Command] that shows itself as a string but, since models mix
// the two up, takes an array as well.
type CommandArg struct{ Command }

// JSONSchema is the form that the schema promises.
func (CommandArg) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

// Request is the command in its REST form.
func (a ExecArgs) Request() (ExecRequest, error) {
	r := ExecRequest{
		Workdir: a.Workdir, Env: a.Env, TimeoutSeconds: a.TimeoutSeconds,
		Stdin: a.Stdin, StdinBase64: a.StdinBase64, Encoding: a.Encoding,
		WaitSeconds: a.WaitSeconds, Background: a.Background,
	}
	switch {
	case a.Command != nil && a.Argv != nil:
		return r, &DecodeError{[]Problem{{Field: "command", Text: "must not be given together with argv"}}}
	case a.Command != nil:
		r.Command = a.Command.Command
	case len(a.Argv) > 0:
		r.Command = Command{Argv: a.Argv}
	default:
		return r, &DecodeError{[]Problem{{Field: "command", Text: "is required, unless argv is given"}}}
	}
	return r, nil
}

// ReadFileArgs of read_file.
type ReadFileArgs struct {
	InSandbox
	Path       string   `json:"path,omitempty" jsonschema_description:"File to read: absolute, or relative to /workspace."`
	PathBase64 string   `json:"path_base64,omitempty" jsonschema_description:"Instead of path: its bytes in base64, for names that are not UTF-8."`
	Offset     *int64   `json:"offset,omitempty" jsonschema:"minimum=0" jsonschema_description:"How many lines to skip; next_offset of the page before. Bytes instead of lines when the content is base64."`
	Limit      *int64   `json:"limit,omitempty" jsonschema:"minimum=1" jsonschema_description:"Most lines to return. Bytes instead of lines when the content is base64."`
	Encoding   Encoding `json:"encoding,omitempty" jsonschema:"enum=utf-8,enum=base64" jsonschema_description:"base64 returns exact bytes whatever the content; utf-8 returns text even when some bytes are invalid. By default text comes as text, other content as base64."`
}

// WriteFileArgs of write_file.
type WriteFileArgs struct {
	InSandbox
	Path          string  `json:"path,omitempty" jsonschema_description:"File to write: absolute within /workspace, or relative to it. Missing directories are made."`
	PathBase64    string  `json:"path_base64,omitempty" jsonschema_description:"Instead of path: its bytes in base64, for names that are not UTF-8."`
	Content       *string `json:"content,omitempty" jsonschema_description:"The file's whole new text. Give this or content_base64."`
	ContentBase64 *string `json:"content_base64,omitempty" jsonschema_description:"The file's whole new content in base64, for binary files."`
	Mode          string  `json:"mode,omitempty" jsonschema:"pattern=^0?[0-7]{1\\,3}$" jsonschema_description:"Permission bits in octal, as 755. By default an existing file keeps its own and a new one gets 644."`
}

// EditFileArgs of edit_file.
type EditFileArgs struct {
	InSandbox
	Path       string `json:"path,omitempty" jsonschema_description:"File to change: absolute within /workspace, or relative to it."`
	PathBase64 string `json:"path_base64,omitempty" jsonschema_description:"Instead of path: its bytes in base64, for names that are not UTF-8."`
	OldText    string `json:"old_text" jsonschema:"minLength=1" jsonschema_description:"Exact text to replace, with its whitespace. It must occur once, unless replace_all is true."`
	NewText    string `json:"new_text" jsonschema_description:"Text to put in its place; empty deletes it."`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema_description:"Replace every occurrence. Default false."`
}

// ListFilesArgs of list_files.
type ListFilesArgs struct {
	InSandbox
	Path       string `json:"path,omitempty" jsonschema_description:"Directory to list: absolute, or relative to /workspace. Default /workspace."`
	PathBase64 string `json:"path_base64,omitempty" jsonschema_description:"Instead of path: its bytes in base64, for names that are not UTF-8."`
	PageArgs
}

// SnapshotArgs of snapshot.
type SnapshotArgs struct {
	InSandbox
	SnapshotRequest
}

// SnapshotListArgs of snapshot_list.
type SnapshotListArgs struct {
	SandboxID SandboxID `json:"sandbox_id,omitempty" jsonschema_description:"Only the snapshots taken of this sandbox. By default all of them."`
	PageArgs
}

// SnapshotDeleteArgs of snapshot_delete.
type SnapshotDeleteArgs struct {
	SnapshotID SnapshotID `json:"snapshot_id" jsonschema_description:"The snapshot to delete."`
}

// RollbackArgs of rollback.
type RollbackArgs struct {
	InSandbox
	RollbackRequest
}

// ForkArgs of fork.
type ForkArgs struct {
	SnapshotID SnapshotID `json:"snapshot_id,omitempty" jsonschema_description:"Snapshot to start from. Give this or sandbox_id."`
	SandboxID  SandboxID  `json:"sandbox_id,omitempty" jsonschema_description:"Running sandbox to start from: a snapshot of it is made first, and kept. Give this or snapshot_id."`
	ForkRequest
}

// MarshalJSON keeps the embedded Command's from being promoted half-way.
func (c CommandArg) MarshalJSON() ([]byte, error) { return json.Marshal(c.Command) }
