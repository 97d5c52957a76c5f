package schemas

import "time"

// ExecStatus of a background exec.
type ExecStatus string

const (
	ExecRunning ExecStatus = "running"
	ExecExited  ExecStatus = "exited"
)

// ExecInfo is a background exec at one moment, without its output.
type ExecInfo struct {
	ExecID      ExecID     `json:"exec_id"`
	Status      ExecStatus `json:"status" jsonschema:"enum=running,enum=exited"`
	Command     string     `json:"command" jsonschema_description:"The command, shortened."`
	StartedAt   time.Time  `json:"started_at"`
	Terminal    bool       `json:"terminal" jsonschema_description:"Whether it runs in a terminal; all output is stdout then."`
	StdoutBytes int64      `json:"stdout_bytes" jsonschema_description:"Bytes the command has written since it began."`
	StderrBytes int64      `json:"stderr_bytes" jsonschema_description:"Bytes the command has written since it began."`
	DurationMS  int64      `json:"duration_ms"`

	// These are nil while it runs.
	ExitCode  *int    `json:"exit_code,omitempty" jsonschema_description:"As in a shell; absent while it runs."`
	Signal    *string `json:"signal,omitempty" jsonschema_description:"Name of the signal that ended it, as SIGKILL."`
	TimedOut  *bool   `json:"timed_out,omitempty" jsonschema_description:"Whether it was killed because its timeout passed; absent while it runs."`
	OOMKilled *bool   `json:"oom_killed,omitempty" jsonschema_description:"Whether a process of it was killed for lack of memory; absent while it runs."`
}

// ExecState is a background exec at one moment, with output since a cursor.
type ExecState struct {
	ExecInfo
	Stdout             string   `json:"stdout"`
	Stderr             string   `json:"stderr"`
	Encoding           Encoding `json:"encoding" jsonschema:"enum=utf-8,enum=base64"`
	Cursor             string   `json:"cursor" jsonschema_description:"Pass it to the next poll, to go on where this output ends."`
	More               bool     `json:"more" jsonschema_description:"Whether output is there already that did not fit."`
	DroppedBytes       int64    `json:"dropped_bytes" jsonschema_description:"Bytes of both streams since the cursor given that are not kept any more, and are missing before this output."`
	StdoutDroppedBytes int64    `json:"stdout_dropped_bytes"`
	StderrDroppedBytes int64    `json:"stderr_dropped_bytes"`
}

// ExecList is a sandbox's background execs, oldest first.
type ExecList struct {
	Execs []ExecInfo `json:"execs"`
}

// ExecPoll says what to read of a background exec. The zero value is all that is
// kept, at once.
type ExecPoll struct {
	Cursor         string
	WaitSeconds    *float64
	MaxOutputBytes *int64
	Encoding       Encoding
}

// SignalRequest names a signal.
type SignalRequest struct {
	Signal string `json:"signal" jsonschema_description:"Name of the signal, as INT or SIGINT."`
}
