package schemas

import (
	"encoding/json"
	"errors"
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

// ExecRequest runs one command in a sandbox.
type ExecRequest struct {
	Command        Command           `json:"command"`
	Workdir        string            `json:"workdir,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	TimeoutSeconds *float64          `json:"timeout_seconds,omitempty"`
	Stdin          *string           `json:"stdin,omitempty"`
	StdinBase64    *string           `json:"stdin_base64,omitempty"`
	Encoding       Encoding          `json:"encoding,omitempty"`
	MaxOutputBytes *int64            `json:"max_output_bytes,omitempty"`
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
	ExitCode        int      `json:"exit_code"`
	Signal          *string  `json:"signal"`
	TimedOut        bool     `json:"timed_out"`
	OOMKilled       bool     `json:"oom_killed"`
	Truncated       bool     `json:"truncated"`
	StdoutTruncated bool     `json:"stdout_truncated"`
	StderrTruncated bool     `json:"stderr_truncated"`
	StdoutBytes     int64    `json:"stdout_bytes"`
	StderrBytes     int64    `json:"stderr_bytes"`
	DurationMS      int64    `json:"duration_ms"`
	Encoding        Encoding `json:"encoding"`
}

// Stream names one of a command's output streams.
type Stream string

const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)
