package schemas

import (
	"encoding/json"
	"errors"

	"github.com/invopop/jsonschema"
)

// Command is either a shell command line (JSON string, run with /bin/sh -c) or
// an argument vector (JSON array of strings, run as is).
type Command struct {
	Shell string
	Argv  []string // used when not empty
}

// UnmarshalJSON accepts a string or an array of strings.
func (c *Command) UnmarshalJSON(b []byte) error {
	*c = Command{}
	if err := json.Unmarshal(b, &c.Shell); err == nil {
		return nil
	}
	if err := json.Unmarshal(b, &c.Argv); err != nil {
		return errors.New("must be a string or an array of strings")
	}
	return nil
}

// JSONSchema shows the REST form. Tools have two fields instead: see [ExecArgs].
func (Command) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "string", Description: "Run with /bin/sh -c."},
		{Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: "Run as is, without a shell."},
	}}
}

// MarshalJSON is the reverse of UnmarshalJSON.
func (c Command) MarshalJSON() ([]byte, error) {
	if len(c.Argv) > 0 {
		return json.Marshal(c.Argv)
	}
	return json.Marshal(c.Shell)
}

// Encoding says how output bytes are put into JSON strings.
type Encoding string

const (
	// EncodingUTF8 replaces invalid bytes by U+FFFD.
	EncodingUTF8 Encoding = "utf-8"
	// EncodingBase64 keeps every byte.
	EncodingBase64 Encoding = "base64"
)

// Validate knows the encodings; [Decode] asks.
func (e Encoding) Validate() error {
	if e != EncodingUTF8 && e != EncodingBase64 {
		return errors.New(`must be "utf-8" or "base64"`)
	}
	return nil
}

// ExecRequest runs one command in a sandbox.
type ExecRequest struct {
	Command        Command           `json:"command"`
	Workdir        string            `json:"workdir,omitempty" jsonschema_description:"Directory to run in. Default /workspace."`
	Env            map[string]string `json:"env,omitempty" jsonschema_description:"Environment variables for this command, over the sandbox's own."`
	TimeoutSeconds *float64          `json:"timeout_seconds,omitempty" jsonschema:"exclusiveMinimum=0" jsonschema_description:"After this long, counted from its start, the command and all it started are killed. More than 0, fractions are allowed. Default 60; none when the command may go on as a background exec."`
	Stdin          *string           `json:"stdin,omitempty" jsonschema_description:"Text for standard input. Without it the command reads end of file at once, unless background is true."`
	StdinBase64    *string           `json:"stdin_base64,omitempty" jsonschema_description:"Bytes for standard input in base64, instead of stdin. 6 MiB of them fit into a request."`
	Encoding       Encoding          `json:"encoding,omitempty" jsonschema:"enum=utf-8,enum=base64" jsonschema_description:"How output is written into JSON. utf-8 (the default) replaces invalid bytes by U+FFFD; base64 keeps every byte."`
	MaxOutputBytes *int64            `json:"max_output_bytes,omitempty" jsonschema:"minimum=0" jsonschema_description:"Most bytes kept of each stream; it can only lower the server's own cap."`
	WaitSeconds    *float64          `json:"wait_seconds,omitempty" jsonschema:"minimum=0,maximum=600" jsonschema_description:"How long to wait for the command to end, 0 to 600. One that still runs goes on as a background exec. By default the call waits to the end; with background, 0."`
	Background     bool              `json:"background,omitempty" jsonschema_description:"Run as a background exec: do not wait, and keep standard input open for later unless stdin is given. With this or wait_seconds there is no timeout unless timeout_seconds is given."`
}

// ExecExit is how a command ended.
type ExecExit struct {
	ExitCode    int     `json:"exit_code"`
	Signal      *string `json:"signal" jsonschema_description:"Name of the signal that ended the command, as SIGKILL."`
	TimedOut    bool    `json:"timed_out"`
	OOMKilled   bool    `json:"oom_killed"`
	DurationMS  int64   `json:"duration_ms"`
	StdoutBytes int64   `json:"stdout_bytes"`
	StderrBytes int64   `json:"stderr_bytes"`
}

// ExecResult is a finished command with its output.
type ExecResult struct {
	Stdout          string   `json:"stdout"`
	Stderr          string   `json:"stderr"`
	ExitCode        int      `json:"exit_code" jsonschema_description:"As in a shell: 126 not executable, 127 not found, 128+n ended by signal n."`
	Signal          *string  `json:"signal" jsonschema_description:"Name of the signal that ended the command, as SIGKILL."`
	TimedOut        bool     `json:"timed_out" jsonschema_description:"Whether it was killed because its timeout passed."`
	OOMKilled       bool     `json:"oom_killed" jsonschema_description:"Whether a process of it was killed for lack of memory."`
	Truncated       bool     `json:"truncated" jsonschema_description:"Whether stdout or stderr is not all there."`
	StdoutTruncated bool     `json:"stdout_truncated"`
	StderrTruncated bool     `json:"stderr_truncated"`
	StdoutBytes     int64    `json:"stdout_bytes" jsonschema_description:"Bytes the command wrote, kept or not."`
	StderrBytes     int64    `json:"stderr_bytes" jsonschema_description:"Bytes the command wrote, kept or not."`
	DurationMS      int64    `json:"duration_ms"`
	Encoding        Encoding `json:"encoding" jsonschema:"enum=utf-8,enum=base64"`
}

// Stream names one of a command's output streams.
type Stream string

const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// TerminalRequest opens a terminal: on a new command, or with ExecID on one that
// is there.
type TerminalRequest struct {
	ExecID  ExecID
	Command string // a shell command line; empty: the image's best shell
	Workdir string
	Term    string // type of the caller's terminal; empty: xterm-256color
	Columns int    // 1 to 4096
	Rows    int    // 1 to 4096
}

// The messages of a terminal's WebSocket that are JSON, in text frames. Bytes,
// typed or shown, go in binary frames.

// ResizeMessage is what a client sends when its window has another size.
type ResizeMessage struct {
	Type    string `json:"type"` // resize
	Columns int    `json:"columns"`
	Rows    int    `json:"rows"`
}

// StartedMessage is the first one from the server.
type StartedMessage struct {
	Type   string `json:"type"` // started
	ExecID ExecID `json:"exec_id"`
}
