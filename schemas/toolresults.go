package schemas

// What MCP tools return where REST answers with bytes or with nothing.

// FileContent is part of a file that read_file returned.
type FileContent struct {
	Path       string   `json:"path"`
	SizeBytes  int64    `json:"size_bytes" jsonschema_description:"Size of the whole file."`
	Encoding   Encoding `json:"encoding" jsonschema:"enum=utf-8,enum=base64" jsonschema_description:"base64 when the content is binary."`
	Content    string   `json:"content"`
	Offset     int64    `json:"offset" jsonschema_description:"Lines (bytes for base64) before the content."`
	Lines      *int64   `json:"lines" jsonschema_description:"Lines in the content, for text."`
	TotalLines *int64   `json:"total_lines" jsonschema_description:"Lines in the whole file, where that was cheap to count."`
	NextOffset *int64   `json:"next_offset" jsonschema_description:"Pass as offset to go on; absent at the end of the file."`
	CutLine    bool     `json:"cut_line,omitempty" jsonschema_description:"Whether the last line is longer than a page and was cut."`
	CutAt      int64    `json:"cut_at,omitempty" jsonschema_description:"How many characters of a cut line are in the content."`
	Truncated  bool     `json:"truncated" jsonschema_description:"Whether the file goes on after the content, or a line was cut."`
}

// Edited is what edit_file did.
type Edited struct {
	File         FileInfo `json:"file"`
	Replacements int      `json:"replacements"`
}

// Destroyed names a sandbox that is gone.
type Destroyed struct {
	SandboxID SandboxID `json:"sandbox_id"`
	Destroyed bool      `json:"destroyed"`
}

// Deleted names a snapshot that is gone.
type Deleted struct {
	SnapshotID SnapshotID `json:"snapshot_id"`
	Deleted    bool       `json:"deleted"`
}

// ExecOutcome is what exec, exec_poll and exec_input return: a command that has
// ended, or how far it has come.
type ExecOutcome struct {
	Status          *ExecStatus `json:"status" jsonschema:"enum=running,enum=exited" jsonschema_description:"running: the command goes on in the background. Absent when it ended within an exec."`
	ExecID          *ExecID     `json:"exec_id" jsonschema_description:"Names the command for exec_poll, exec_input and exec_kill."`
	Cursor          *string     `json:"cursor" jsonschema_description:"Pass to the next exec_poll, to get only what comes after this output."`
	Stdout          string      `json:"stdout"`
	Stderr          string      `json:"stderr"`
	ExitCode        *int        `json:"exit_code" jsonschema_description:"As in a shell: 126 not executable, 127 not found, 128+n ended by signal n. Absent while it runs."`
	Signal          *string     `json:"signal" jsonschema_description:"Name of the signal that ended the command, as SIGKILL."`
	TimedOut        *bool       `json:"timed_out" jsonschema_description:"Whether it was killed because its timeout passed. Absent while it runs."`
	OOMKilled       *bool       `json:"oom_killed" jsonschema_description:"Whether a process of it was killed for lack of memory. Absent while it runs."`
	Truncated       bool        `json:"truncated" jsonschema_description:"Whether stdout or stderr is not all there."`
	StdoutTruncated bool        `json:"stdout_truncated"`
	StderrTruncated bool        `json:"stderr_truncated"`
	DroppedBytes    *int64      `json:"dropped_bytes" jsonschema_description:"Of a background command: how much of what is missing was not kept any more when it was asked for."`
	StdoutBytes     int64       `json:"stdout_bytes" jsonschema_description:"Bytes the command has written since it began."`
	StderrBytes     int64       `json:"stderr_bytes" jsonschema_description:"Bytes the command has written since it began."`
	DurationMS      int64       `json:"duration_ms"`
	Encoding        Encoding    `json:"encoding" jsonschema:"enum=utf-8,enum=base64"`
}

// ExecPolled is one background command, or the list of them.
type ExecPolled struct {
	*ExecOutcome
	Execs *[]ExecInfo `json:"execs" jsonschema_description:"When no exec_id was given: the sandbox's background commands, oldest first."`
}

// ExecKilled is a background command that was killed, or got a signal; or that
// had ended already, of which only what it had left running was killed.
type ExecKilled struct {
	ExecID   ExecID `json:"exec_id"`
	Signal   string `json:"signal,omitempty" jsonschema_description:"The signal that it got; SIGKILL when it was killed with all it had started. Absent when it had ended already."`
	ExitCode *int   `json:"exit_code,omitempty" jsonschema_description:"Of a command that had ended already."`
}
