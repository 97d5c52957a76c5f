package protocol

import (
	"strings"
	"time"
)

// Calls about background execs. A guest from before them answers with "not
// found", which the client reports as [ErrUnknownCall]; nothing that it knew has
// changed its meaning, so [Version] stays.
const (
	PathStart  = "/start"  // StartParams + stdin -> output frames
	PathExecs  = "/execs"  // {} -> ExecState, one after the other, oldest first
	PathPoll   = "/poll"   // PollParams -> output frames, whose result is an ExecState
	PathInput  = "/input"  // InputParams + bytes -> InputResult
	PathEnough = "/enough" // EnoughParams -> {}
	PathSignal = "/signal" // SignalParams -> {}
	PathKill   = "/kill"   // KillParams -> {}
	PathResize = "/resize" // ResizeParams -> {}
)

// MaxBackground is how many background execs a guest has at a time.
const MaxBackground = 32

// MaxArgv bounds what is told of a background exec's argv, in bytes with one
// for the end of each argument.
const MaxArgv = 1 << 10

// Shape of a background exec's ID.
const (
	execPrefix = "ex_"
	execDigits = 16
)

// ValidExecID reports whether id has the shape of a background exec's ID.
func ValidExecID(id string) bool {
	digits, ok := strings.CutPrefix(id, execPrefix)
	return ok && len(digits) == execDigits && strings.Trim(digits, "0123456789abcdef") == ""
}

// StartParams starts one command that may outlive its call. The call stays with
// it, as that of PathExec does, until it ends or Wait has passed; then the result
// says Running.
type StartParams struct {
	ExecParams
	ID   string        `json:"id"`
	Wait time.Duration `json:"wait"`
	// Input keeps the standard input open for PathInput. HasStdin excludes it.
	Input bool `json:"input,omitempty"`
	// Terminal, when set, is the size of the terminal that the command gets.
	Terminal *WindowSize `json:"terminal,omitempty"`
}

// WindowSize of a terminal, each 1 to MaxWindow.
type WindowSize struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// MaxWindow is the largest number of columns or rows of a terminal.
const MaxWindow = 4096

// Valid reports whether both are in range.
func (w WindowSize) Valid() bool {
	return w.Columns >= 1 && w.Columns <= MaxWindow && w.Rows >= 1 && w.Rows <= MaxWindow
}

// PollParams asks for output of a background exec.
type PollParams struct {
	ID string `json:"id"`
	// Stdout and Stderr are where to begin, in bytes since the command began.
	// Beyond what there is yet is ErrInvalid; negative: the last so many bytes.
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
	// MaxBytes of each stream, without Follow; negative: any number.
	MaxBytes int64 `json:"max_bytes"`
	// Wait for some output, or the end, when there is none.
	Wait time.Duration `json:"wait"`
	// Follow sends all output until the command has ended.
	Follow bool `json:"follow,omitempty"`
	Packs  bool `json:"packs,omitempty"` // see ExecParams
}

// ExecState is a background exec at one moment.
type ExecState struct {
	ID       string    `json:"id"`
	Argv     []string  `json:"argv"` // the first MaxArgv bytes
	Started  time.Time `json:"started"`
	Terminal bool      `json:"terminal,omitempty"`
	// Stdout and Stderr, from PathPoll: where the output that was sent began.
	Stdout int64      `json:"stdout"`
	Stderr int64      `json:"stderr"`
	Result ExecResult `json:"result"`
}

// InputParams announces bytes for a background exec's standard input.
type InputParams struct {
	ID  string `json:"id"`
	End bool   `json:"end,omitempty"` // no more follows
	// Call names this call, for EnoughParams; unguessable.
	Call string `json:"call"`
}

// InputResult is how many bytes the command's pipe took, and why not all.
type InputResult struct {
	Taken int64  `json:"taken"`
	Error *Error `json:"error,omitempty"`
}

// EnoughParams ends a PathInput call that waits for its command. Unlike one that
// is cancelled, it still says how much was taken.
type EnoughParams struct {
	Call string `json:"call"`
}

// SignalParams sends a signal, by name as "SIGINT", to a background exec's
// process group, and on a terminal to the one in the foreground, too.
type SignalParams struct {
	ID     string `json:"id"`
	Signal string `json:"signal"`
}

// KillParams ends a background exec with all that it started.
type KillParams struct {
	ID string `json:"id"`
}

// ResizeParams changes the size of a background exec's terminal.
type ResizeParams struct {
	ID   string     `json:"id"`
	Size WindowSize `json:"size"`
}
