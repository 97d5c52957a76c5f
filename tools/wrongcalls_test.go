package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// wrongCall is a call as a model may well write it that has not read everything.
type wrongCall struct {
	what string
	tool string
	args any    // JSON where it is text
	does string // in the answer: how to put it right, or that it was put right
	ok   bool   // it is taken as it was meant
}

// What stands for things in the calls below.
const (
	aBox, aSnap, aJob              = "BOX", "SNAP", "JOB"
	goneBox, expiredBox, othersBox = "GONE", "EXPIRED", "OTHERS"
	goneSnap                       = "LOST"
)

var wrongCalls = []wrongCall{
	// Names.
	{"another name for command", "exec", args{"sandbox_id": aBox, "cmd": "ls"}, "cmd: is not a known field; did you mean command?", false},
	{"another name for timeout_seconds", "exec", args{"sandbox_id": aBox, "command": "ls", "timeout": 30}, "did you mean timeout_seconds?", false},
	{"another name for workdir", "exec", args{"sandbox_id": aBox, "command": "ls", "cwd": "/tmp"}, "did you mean workdir?", false},
	{"another name for path", "read_file", args{"sandbox_id": aBox, "file_path": "a.txt"}, "did you mean path?", false},
	{"other names in edit_file", "edit_file", args{"sandbox_id": aBox, "path": "a.txt", "old_string": "a", "new_string": "b"}, "did you mean old_text?", false},
	{"camel case", "exec", args{"sandboxId": aBox, "command": "ls"}, "did you mean sandbox_id?", false},
	{"a field of another tool", "list_files", args{"sandbox_id": aBox, "recursive": true}, "known are sandbox_id, path", false},

	// Types.
	{"a number as text", "exec", args{"sandbox_id": aBox, "command": "echo ok", "timeout_seconds": "30"}, "exit code 0", true},
	{"a boolean as text", "edit_file", args{"sandbox_id": aBox, "path": "twice.txt", "old_text": "x", "new_text": "y", "replace_all": "true"}, "replaced 2", true},
	{"an array as text", "exec", args{"sandbox_id": aBox, "argv": `["echo", "it's"]`}, "it's", true},
	{"an array for a text", "exec", args{"sandbox_id": aBox, "command": []string{"echo", "a b"}}, "a b", true},
	{"an object as text", "exec", args{"sandbox_id": aBox, "command": "echo $PORT", "env": `{"PORT": 8080}`}, "8080", true},
	{"numbers in an environment", "exec", args{"sandbox_id": aBox, "command": "echo $PORT", "env": args{"PORT": 8080}}, "8080", true},
	{"all arguments as text", "exec", `"{\"sandbox_id\":\"BOX\",\"command\":\"echo ok\"}"`, "ok", true},
	{"nulls and empty texts for what is left out", "fork", args{"snapshot_id": aSnap, "sandbox_id": "", "count": "", "cpus": nil}, "sandboxes made: 1", true},
	{"a unit in a number", "exec", args{"sandbox_id": aBox, "command": "ls", "timeout_seconds": "30s"}, `timeout_seconds: must be a number, got "30s"`, false},
	{"a size in words", "sandbox_create", args{"memory_mb": "1g"}, `memory_mb: must be a whole number, got "1g"`, false},
	{"yes for true", "sandbox_create", args{"network": "yes"}, "network: must be true or false", false},
	{"an environment as a list", "exec", args{"sandbox_id": aBox, "command": "ls", "env": []string{"A=b"}}, "env: must be an object, each value a string", false},
	{"an object for a file's text", "write_file", args{"sandbox_id": aBox, "path": "a.json", "content": args{"a": 1}}, "content: must be a string, got an object", false},
	{"a mode as a number", "write_file", args{"sandbox_id": aBox, "path": "a.sh", "content": "", "mode": 755}, "mode: must be a string, got 755", false},
	{"a mode in letters", "write_file", args{"sandbox_id": aBox, "path": "a.sh", "content": "", "mode": "u+x"}, "mode", false},

	// IDs.
	{"no sandbox", "exec", args{"command": "ls"}, "sandbox_id: is required\nHint: sandbox_list", false},
	{"a name for an ID", "exec", args{"sandbox_id": "my-sandbox", "command": "ls"}, "must be a sandbox ID", false},
	{"a snapshot for a sandbox", "exec", args{"sandbox_id": aSnap, "command": "ls"}, "is the ID of a snapshot\nHint: sandbox_list", false},
	{"a sandbox for a snapshot", "rollback", args{"sandbox_id": aBox, "snapshot_id": aBox}, "is the ID of a sandbox\nHint: snapshot_list", false},
	{"a background command that is not there", "exec_poll", args{"sandbox_id": aBox, "exec_id": "ex_0123456789abcdef"}, "exec_poll without exec_id shows", false},
	{"a sandbox that was destroyed", "exec", args{"sandbox_id": goneBox, "command": "ls"}, "sandbox_list shows what there is, sandbox_create makes a new one", false},
	{"a sandbox that has expired", "read_file", args{"sandbox_id": expiredBox, "path": "a.txt"}, "sandbox_list shows what there is, sandbox_create makes a new one", false},
	{"another owner's sandbox", "exec", args{"sandbox_id": othersBox, "command": "ls"}, "not_found: no sandbox", false},
	{"a sandbox where a snapshot is meant", "snapshot_delete", args{"sandbox_id": aBox}, "snapshot_id: is required\nHint: snapshot_list", false},
	{"a snapshot that was deleted", "fork", args{"snapshot_id": goneSnap}, "snapshot_list shows what there is", false},

	// Commands.
	{"no command", "exec", args{"sandbox_id": aBox}, "command: is required, unless argv is given", false},
	{"two commands", "exec", args{"sandbox_id": aBox, "command": "ls", "argv": []string{"ls"}}, "command: must not be given together with argv", false},
	{"a quote that does not end", "exec", args{"sandbox_id": aBox, "command": "echo it's"}, "exit code 2", true},
	{"a command line as a program", "exec", args{"sandbox_id": aBox, "argv": []string{"echo hi"}}, "exit code 127", true},
	{"a directory that is not there", "exec", args{"sandbox_id": aBox, "command": "ls", "workdir": "nowhere"}, "nowhere", false},
	{"endless output", "exec", args{"sandbox_id": aBox, "command": "cat large"}, "truncated, 350000 bytes in all", true},
	{"a wait beyond the limit", "exec", args{"sandbox_id": aBox, "command": "ls", "wait_seconds": 3600}, "allowed is 0 to 600", false},
	{"a signal by number", "exec_kill", args{"sandbox_id": aBox, "exec_id": aJob, "signal": 9}, "signal: must be a string, got 9", false},
	{"a cursor that was made up", "exec_poll", args{"sandbox_id": aBox, "exec_id": aJob, "cursor": "latest"}, "cursor", false},
	{"input without a target", "exec_input", args{"sandbox_id": aBox, "input": "1+1\n"}, "exec_id: is required\nHint: exec_poll", false},

	// Files.
	{"a relative path", "write_file", args{"sandbox_id": aBox, "path": "./src/../b.txt", "content": "b"}, "wrote /workspace/b.txt", true},
	{"a path from the home directory", "read_file", args{"sandbox_id": aBox, "path": "~/a.txt"}, "/workspace/a.txt: ", true},
	{"a path out of the workspace", "write_file", args{"sandbox_id": aBox, "path": "../../etc/passwd", "content": "x"}, "Hint: Only /workspace can be written", false},
	{"a file outside the workspace", "write_file", args{"sandbox_id": aBox, "path": "/tmp/a", "content": "x"}, "To write elsewhere, as in /tmp, use exec", false},
	{"a URI for a path", "read_file", args{"sandbox_id": aBox, "path": "file:///workspace/a.txt"}, "path: must be a path and not a URI", false},
	{"a directory for a file", "read_file", args{"sandbox_id": aBox, "path": "dir"}, "it is a directory; list it", false},
	{"a file for a directory", "list_files", args{"sandbox_id": aBox, "path": "a.txt"}, "not a directory; read it", false},
	{"a file that is not there", "read_file", args{"sandbox_id": aBox, "path": "src/main.py"}, "Hint: list_files", false},
	{"a binary file", "read_file", args{"sandbox_id": aBox, "path": "binary"}, "binary, as base64", true},
	{"a large file", "read_file", args{"sandbox_id": aBox, "path": "large"}, "go on with offset ", true},
	{"an offset past the end", "read_file", args{"sandbox_id": aBox, "path": "a.txt", "offset": 500}, "past the end", true},
	{"text that is no base64", "write_file", args{"sandbox_id": aBox, "path": "a", "content_base64": "hello!"}, "content_base64: must be standard base64", false},

	// Edits.
	{"an edit that matches twice", "edit_file", args{"sandbox_id": aBox, "path": "two.txt", "old_text": "x", "new_text": "y"}, "Hint: Add lines around it", false},
	{"an edit with other whitespace", "edit_file", args{"sandbox_id": aBox, "path": "a.txt", "old_text": "\thello", "new_text": "y"}, "other whitespace", false},
	{"an edit of text that is not there", "edit_file", args{"sandbox_id": aBox, "path": "a.txt", "old_text": "goodbye", "new_text": "y"}, "Read the file and copy the text exactly", false},
	{"an edit that makes a file", "edit_file", args{"sandbox_id": aBox, "path": "a.txt", "old_text": "", "new_text": "y"}, "to make a file use write_file", false},

	// Limits.
	{"a lifetime beyond the limit", "sandbox_create", args{"timeout_seconds": 1e9}, "timeout_seconds", false},
	{"no memory to speak of", "sandbox_create", args{"memory_mb": 1}, "memory_mb", false},
	{"nothing to fork", "fork", args{"count": 2}, "snapshot_id: is required, unless sandbox_id is given", false},
	{"too many forks", "fork", args{"snapshot_id": aSnap, "count": 50}, "count: must be from 1 to 20", false},
	{"a page of nothing", "list_files", args{"sandbox_id": aBox, "limit": 0}, "limit: must be from 1 to 1000", false},
}

// Whatever is wrong with a call, its answer tells how to put it right. docs/mcp.md
// has the table.
func TestWrongCalls(t *testing.T) {
	b := newBench(t)
	names := wrongCallThings(t, b)
	var rows strings.Builder
	rows.WriteString("| call | tool and arguments | answer |\n| --- | --- | --- |\n")
	for _, c := range wrongCalls {
		raw, isText := c.args.(string)
		if !isText {
			raw = strings.TrimSpace(mustJSON(c.args))
		}
		r := b.rawCall(c.tool, names.Replace(raw))
		if r.IsError == c.ok || !strings.Contains(r.text(), c.does) {
			t.Errorf("%s: failed is %t, want %t; got %q, want %q", c.what, r.IsError, !c.ok, r.text(), c.does)
		}
		if shown := len(r.text()); r.IsError && shown > 700 {
			t.Errorf("%s: an answer of %d bytes: %q", c.what, shown, r.text())
		}
		fmt.Fprintf(&rows, "| %s | `%s` `%s` | %s |\n", c.what, c.tool, strings.ReplaceAll(raw, "|", `\|`), wrongCallAnswer(r))
	}
	if len(wrongCalls) < 40 {
		t.Errorf("only %d calls", len(wrongCalls))
	}
	inPage(t, "wrong calls", rows.String())
}

// wrongCallAnswer is an answer as it fits into a table.
func wrongCallAnswer(r result) string {
	text := r.text()
	if before, _, found := strings.Cut(text, "nown are "); found {
		text = before + "nown are …"
	}
	text = times.ReplaceAllString(spans.ReplaceAllString(ids.ReplaceAllString(text, "${1}_…"), "${1}N"), "TIME")
	if most := 130; !r.IsError && len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;").Replace(text)
}

func (b *bench) rawCall(tool, arguments string) result {
	b.t.Helper()
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	return toResult(b.t, b.srv.HandleMessage(WithOwner(context.Background(), manager.DefaultOwner), json.RawMessage(line)))
}

func wrongCallThings(t *testing.T, b *bench) *strings.Replacer {
	id := b.create()
	for path, content := range map[string]string{
		"a.txt": "  hello\n", "twice.txt": "x\nx\n", "two.txt": "x\nx\n", "dir/b": "", "binary": "\x00\x01", "large": strings.Repeat("a line\n", 50_000),
	} {
		b.call("write_file", args{"sandbox_id": id, "path": path, "content": content})
	}
	var snap, lost schemas.Snapshot
	b.call("snapshot", args{"sandbox_id": id}).into(t, &snap)
	b.call("snapshot", args{"sandbox_id": id}).into(t, &lost)
	b.call("snapshot_delete", args{"snapshot_id": lost.ID})
	var job struct {
		ID string `json:"exec_id"`
	}
	b.call("exec", args{"sandbox_id": id, "command": "sleep 100", "background": true}).into(t, &job)
	gone := b.create()
	b.call("sandbox_destroy", args{"sandbox_id": gone})
	var expired, other schemas.Sandbox
	b.call("sandbox_create", args{"timeout_seconds": 1}).into(t, &expired)
	callOn(t, b.srv, WithOwner(context.Background(), "other"), "sandbox_create", args{}).into(t, &other)
	waitFor(t, func() bool { return time.Now().After(expired.ExpiresAt) })
	return strings.NewReplacer(aBox, id, aSnap, string(snap.ID), aJob, job.ID,
		goneBox, gone, expiredBox, string(expired.ID), othersBox, string(other.ID), goneSnap, string(lost.ID))
}
