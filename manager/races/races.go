// Package races says what may come of two operations on one sandbox at the same
// time. The tests of the manager and those from end to end hold the product
// against it, and docs/guarantees.md shows it.
package races

import (
	"slices"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Op is something that is done to a sandbox, or happens to it.
type Op string

// The operations. Fork forks the sandbox itself. Expiry is the end of its time;
// Restart is the server's end, by itself or by a crash, and the next one's start.
const (
	Exec     Op = "exec"
	Stream   Op = "stream"
	Put      Op = "put"
	Snapshot Op = "snapshot"
	Rollback Op = "rollback"
	Fork     Op = "fork"
	Renew    Op = "renew"
	Destroy  Op = "destroy"
	Expiry   Op = "expiry"
	Restart  Op = "restart"
)

// Ops are all operations.
var Ops = []Op{Exec, Stream, Put, Snapshot, Fork, Rollback, Renew, Destroy, Expiry, Restart}

// Outcome is how an operation ends.
type Outcome string

// The outcomes. All but Done and Renewed are refusals or cut a call off.
const (
	Done       Outcome = "done"
	Renewed    Outcome = "renewed"     // of an expiry that came to nothing
	Busy       Outcome = "busy"        // conflict: another operation is in progress; nothing is changed
	RolledBack Outcome = "rolled back" // sandbox_gone, reason rolled_back
	Destroyed  Outcome = "destroyed"   // sandbox_gone, reason destroyed
	Expired    Outcome = "expired"     // sandbox_gone, reason expired
	NotFound   Outcome = "not found"   // not_found
	Ended      Outcome = "ended"       // backend_unavailable, for the server ends; or no answer at all
)

// OfError is the outcome of a call that failed so; none when it must not.
func OfError(e schemas.Error) Outcome {
	switch {
	case e.Code == schemas.CodeConflict && e.Retryable:
		return Busy
	case e.Code == schemas.CodeSandboxGone:
		return map[string]Outcome{"rolled_back": RolledBack, "destroyed": Destroyed, "expired": Expired}[e.Reason]
	case e.Code == schemas.CodeNotFound:
		return NotFound
	case e.Code == schemas.CodeBackendUnavailable && e.Message == "the server is shutting down":
		return Ended
	}
	return ""
}

// group is operations that race alike.
type group []Op

var groups = []group{{Exec, Stream, Put}, {Snapshot, Fork}, {Rollback}, {Renew}, {Destroy}, {Expiry}, {Restart}}

// table has a line for each group: what may come of its operations, beside those
// of each group in turn.
var table = [][][]Outcome{
	{{Done}, {Done}, {Done, RolledBack}, {Done}, {Done, Destroyed, NotFound}, {Done, Expired, NotFound}, {Done, Ended}},
	{{Done}, {Done, Busy}, {Done, Busy}, {Done}, {Done, Destroyed, NotFound}, {Done, Expired, NotFound}, {Done, Ended}},
	{{Done}, {Done, Busy}, {Done, Busy}, {Done}, {Done, Destroyed, NotFound}, {Done, Expired, NotFound}, {Done, Ended}},
	{{Done}, {Done}, {Done}, {Done}, {Done, NotFound}, {Done, NotFound}, {Done, Ended}},
	{{Done}, {Done}, {Done}, {Done}, {Done, NotFound}, {Done, NotFound}, {Done, Ended}},
	{{Done}, {Done}, {Done}, {Done, Renewed}, {Done}, nil, {Done}},
	{{Done}, {Done}, {Done}, {Done}, {Done}, {Done}, nil},
}

// Allowed tells what may come of op while beside happens to the same sandbox;
// nothing when the two cannot meet.
func Allowed(op, beside Op) []Outcome { return table[groupOf(op)][groupOf(beside)] }

func groupOf(op Op) int {
	return slices.IndexFunc(groups, func(g group) bool { return slices.Contains(g, op) })
}
