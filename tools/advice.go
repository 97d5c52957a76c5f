package tools

import (
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// advice says what a model can do about a failure that brings no hint of its own.
// What is forbidden or not found and has none is a file. The message of an invalid
// request says it all.
var advice = map[schemas.Code]string{
	schemas.CodeForbidden:           "Commands and file tools act as an ordinary user: exec with ls -ld shows owner and mode, and chmod changes the mode of files of your own.",
	schemas.CodeNotFound:            "list_files shows what is there.",
	schemas.CodeConflict:            "The message tells what is in the way. Remove or rename that, or ask for something else.",
	schemas.CodeSandboxGone:         "The sandbox went away during the call. See sandbox_list; make a new one with sandbox_create, or with fork from a snapshot.",
	schemas.CodePayloadTooLarge:     "Work on it inside the sandbox with exec, in smaller parts.",
	schemas.CodeLimitExceeded:       "Destroy a sandbox that is no longer needed (sandbox_list shows them), then call again.",
	schemas.CodeInternal:            "This is the server's fault, not yours. Try once more, then tell the user.",
	schemas.CodeBackendError:        "Try once more, then tell the user.",
	schemas.CodeBackendUnavailable:  "The container backend does not answer. Wait a little and call again, then tell the user.",
	schemas.CodeInsufficientStorage: "Delete files in the sandbox, or snapshots that are no longer needed, and call again.",
}

// fieldAdvice says where a value comes from that cannot be made up.
var fieldAdvice = map[string]string{
	"sandbox_id":  "sandbox_list shows the sandboxes there are, sandbox_create makes one, and fork makes one from a snapshot.",
	"snapshot_id": "snapshot_list shows the snapshots there are, and snapshot takes one.",
	"exec_id":     "exec_poll without exec_id lists a sandbox's background commands.",
}

func fieldHint(mistake *schemas.DecodeError) string {
	for _, p := range mistake.Problems {
		if hint := fieldAdvice[p.Field]; hint != "" && !p.Unknown {
			return hint
		}
	}
	return ""
}

// toolWords puts the names of tools into hints that the manager gives to both doors.
var toolWords = strings.NewReplacer(
	"List sandboxes, or create a new one", "sandbox_list shows what there is, sandbox_create makes a new one",
	"List snapshots to see what there is", "snapshot_list shows what there is",
	"List the sandbox's background execs to see which there are", "exec_poll without exec_id shows which there are",
	"List the sandbox's background execs and kill those", "exec_poll without exec_id shows them; exec_kill those",
	"Poll it ", "exec_poll it ",
	"To write elsewhere, as in /tmp, run a command", "To write elsewhere, as in /tmp, use exec",
	"Destroy a sandbox that is no longer needed, or", "sandbox_destroy one that is no longer needed (sandbox_list shows them), or",
)
