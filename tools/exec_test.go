package tools

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func TestN12ExitCodesAreResults(t *testing.T) {
	b := newBench(t)
	id := b.create()
	run := func(a args) (r schemas.ExecResult, text string) {
		t.Helper()
		a["sandbox_id"] = id
		got := b.call("exec", a)
		got.into(t, &r)
		return r, got.text()
	}
	r, text := run(args{"command": "echo out; echo err >&2; exit 3"})
	if r.ExitCode != 3 || r.Stdout != "out\n" || r.Stderr != "err\n" || r.Truncated || r.Encoding != "utf-8" || r.StdoutBytes != 4 {
		t.Errorf("got %+v", r)
	}
	if !strings.HasPrefix(text, "exit code 3 after ") || !strings.HasSuffix(text, " ms\n--- stdout ---\nout\n--- stderr ---\nerr") {
		t.Errorf("got %q", text)
	}
	r, text = run(args{"command": "echo before; sleep 30", "timeout_seconds": 0.2})
	if !r.TimedOut || r.ExitCode != 137 || r.Stdout != "before\n" || !strings.HasPrefix(text, "exit code 137: killed because its timeout_seconds (0.2; at most 86400) passed, after ") {
		t.Errorf("got %+v, %q", r, text)
	}
	if r, text = run(args{"command": "true"}); r.ExitCode != 0 || !strings.HasSuffix(text, "no output") {
		t.Errorf("got %+v, %q", r, text)
	}
	if r, _ = run(args{"argv": []string{"echo", "$HOME", "a  b"}}); r.Stdout != "$HOME a  b\n" {
		t.Errorf("argv: %q", r.Stdout)
	}
	if r, _ = run(args{"command": []string{"echo", "lenient"}}); r.Stdout != "lenient\n" {
		t.Errorf("an array as command: %q", r.Stdout)
	}
	if r, _ = run(args{"command": "cat; pwd; echo $A", "stdin": "in\n", "workdir": "/tmp", "env": args{"A": "b"}}); r.Stdout != "in\n/tmp\nb\n" {
		t.Errorf("stdin, workdir, env: %q", r.Stdout)
	}
}

func TestN12FailedCallsAreErrorsWithCodeAndHint(t *testing.T) {
	b := newBench(t)
	id := b.create()
	const nobody, noExec = "sb_0000000000000000", "ex_0000000000000000"
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"exec", args{"sandbox_id": nobody, "command": "true"}, "not_found: "},
		{"exec", args{"sandbox_id": "nonsense", "command": "true"}, "invalid_request: sandbox_id: must be a sandbox ID"},
		{"exec", nil, "invalid_request: sandbox_id: is required"},
		{"exec", args{"sandbox_id": id, "command": "true", "wait_seconds": 601}, "invalid_request: wait_seconds is 601; allowed is 0 to 600"},
		{"exec_poll", nil, "invalid_request: sandbox_id: is required"},
		{"exec_poll", args{"sandbox_id": id, "exec_id": "1"}, "invalid_request: exec_id: must be an exec ID"},
		{"exec_poll", args{"sandbox_id": id, "exec_id": noExec}, "not_found: no background exec " + noExec},
		{"exec_poll", args{"sandbox_id": id, "exec_id": noExec, "cursor": "x"}, "invalid_request: cursor"},
		{"exec_poll", args{"sandbox_id": id, "exec_id": noExec, "wait_seconds": 61}, "invalid_request: wait_seconds is 61; allowed is 0 to 60"},
		{"exec_poll", args{"sandbox_id": id, "exec_id": noExec, "max_output_bytes": -1}, "invalid_request: max_output_bytes"},
		{"exec_poll", args{"sandbox_id": id, "cursor": "0-0"}, "invalid_request: exec_id: is required with a cursor"},
		{"exec_input", args{"sandbox_id": id}, "invalid_request: exec_id: is required"},
		{"exec_input", args{"sandbox_id": id, "exec_id": noExec, "input": "x"}, "not_found: no background exec"},
		{"exec_input", args{"sandbox_id": id, "exec_id": noExec}, "invalid_request: input: is required, unless"},
		{"exec_input", args{"sandbox_id": id, "exec_id": noExec, "input": "x", "input_base64": ""}, "invalid_request: input: must not be given together"},
		{"exec_input", args{"sandbox_id": id, "exec_id": noExec, "input_base64": "%"}, "invalid_request: input_base64: must be standard base64"},
		{"exec_input", args{"sandbox_id": id, "exec_id": noExec, "input": "x", "wait_seconds": 61}, "invalid_request: wait_seconds: must be from 0 to 60, got 61"},
		{"exec_kill", args{"sandbox_id": id}, "invalid_request: exec_id: is required"},
		{"exec_kill", args{"sandbox_id": id, "exec_id": noExec}, "not_found: no background exec"},
		{"exec_kill", args{"sandbox_id": id, "exec_id": noExec, "signal": "9"}, "invalid_request: signal is \"9\""},
		{"exec", args{"sandbox_id": id}, "invalid_request: command: is required, unless argv is given"},
		{"exec", args{"sandbox_id": id, "cmd": "ls"}, "invalid_request: cmd: is not a known field; did you mean command? Known are sandbox_id, command"},
		{"exec", args{"sandbox_id": id, "command": "ls", "timeout_seconds": -1}, "invalid_request: timeout_seconds"},
		{"exec", args{"sandbox_id": id, "command": "ls", "max_output_bytes": -1}, "invalid_request: max_output_bytes: must be from 0 to 200000, got -1"},
		{"exec", args{"sandbox_id": id, "command": "ls", "env": args{"1A": "x"}}, "invalid_request: "},
		{"exec", args{"sandbox_id": id, "command": "cat", "stdin_base64": "%"}, "invalid_request: stdin_base64"},
		{"sandbox_create", args{"image": "no such image"}, "invalid_request: "},
		{"sandbox_create", args{"cpus": "two"}, `invalid_request: cpus: must be a number, got "two"`},
		{"sandbox_create", args{"memory_mb": 1}, "invalid_request: memory_mb"},
		{"sandbox_destroy", args{"sandbox_id": nobody}, "not_found: "},
		{"read_file", args{"sandbox_id": id, "path": "nowhere"}, "not_found: "},
		{"read_file", args{"sandbox_id": id, "path": "/workspace"}, "invalid_request: "},
		{"read_file", args{"sandbox_id": id, "path": "a", "offset": -1}, "invalid_request: offset: must be from 0 to "},
		{"write_file", args{"sandbox_id": id, "path": "/etc/passwd", "content": ""}, "invalid_request: "},
		{"write_file", args{"sandbox_id": id, "path": "a"}, "invalid_request: content: is required, unless content_base64 is given"},
		{"write_file", args{"sandbox_id": id, "path": "a", "content": "", "content_base64": ""}, "invalid_request: content: must not be given together with content_base64"},
		{"write_file", args{"sandbox_id": id, "path": "a", "content_base64": "%"}, "invalid_request: content_base64: must be standard base64"},
		{"write_file", args{"sandbox_id": id, "path": "a", "content": "", "mode": "rwx"}, "invalid_request: mode"},
		{"list_files", args{"sandbox_id": id, "limit": 0}, "invalid_request: limit: must be from 1 to 1000, got 0"},
		{"edit_file", args{"sandbox_id": id, "path": "nowhere", "old_text": "a", "new_text": "b"}, "not_found: "},
		{"edit_file", args{"sandbox_id": id, "path": "a", "old_text": "", "new_text": "b"}, "invalid_request: old_text: must not be empty"},
		{"fork", args{}, "invalid_request: snapshot_id: is required, unless sandbox_id is given"},
		{"fork", args{"sandbox_id": id, "count": 21}, "invalid_request: count: must be from 1 to 20, got 21"},
	} {
		r := b.call(c.tool, c.args)
		text := r.text()
		if !r.IsError || !strings.HasPrefix(text, c.want) || strings.HasPrefix(c.want, "not_found") && !strings.Contains(text, "\nHint: ") {
			t.Errorf("%s %v: got %q, want %q and a hint", c.tool, c.args, text, c.want)
		}
		if strings.Contains(text, "Correct the arguments") {
			t.Errorf("%s %v: an empty hint: %q", c.tool, c.args, text)
		}
	}
}

// A hint fits what failed.
func TestHintsFit(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.call("write_file", args{"sandbox_id": id, "path": "f", "content": "x"})
	b.call("write_file", args{"sandbox_id": id, "path": "closed", "content": "x", "mode": "0"})
	for _, c := range []struct {
		tool          string
		args          args
		has, hasNever string
	}{
		{"read_file", args{"path": "nowhere"}, "not_found: read /workspace/nowhere: no such file or directory\nHint: list_files shows what is there.", "sandbox_"},
		{"edit_file", args{"path": "nowhere", "old_text": "a", "new_text": "b"}, "list_files shows", "sandbox_"},
		{"list_files", args{"path": "nowhere"}, "list_files shows", "sandbox_"},
		{"read_file", args{"path": "f", "sandbox_id": "sb_0000000000000000"}, "sandbox_list shows", "list_files"},
		{"rollback", args{"snapshot_id": "snap_0000000000000000"}, "snapshot_list shows", "list_files"},
		{"read_file", args{"path": "closed"}, "forbidden: ", "does not allow"},
		{"list_files", args{"path": "f"}, "invalid_request: ", "Hint"},
		{"write_file", args{"path": "f/below", "content": "x"}, "in the way", "Wait"},
	} {
		if c.args["sandbox_id"] == nil {
			c.args["sandbox_id"] = id
		}
		if text := b.call(c.tool, c.args).text(); !strings.Contains(text, c.has) || strings.Contains(text, c.hasNever) {
			t.Errorf("%s %v: got %q", c.tool, c.args, text)
		}
	}
}

func TestD3OutputIsValidWhateverItsBytes(t *testing.T) {
	b := newBench(t)
	id := b.create()
	for _, c := range []struct{ printf, want, base64 string }{
		{`\377\376\200`, "\uFFFD\uFFFD\uFFFD", "//6A"},
		{`\355\240\200`, "\uFFFD\uFFFD\uFFFD", "7aCA"},
		{`\033[31m\000`, "\x1b[31m\x00", "G1szMW0A"},
		{`\260\241`, "\uFFFD\uFFFD", "sKE="},
		{`\343\201\202`, "あ", "44GC"},
	} {
		var r schemas.ExecResult
		b.call("exec", args{"sandbox_id": id, "argv": []string{"printf", c.printf}}).into(t, &r)
		if r.Stdout != c.want || r.StdoutTruncated {
			t.Errorf("%s: got %q", c.printf, r.Stdout)
		}
		b.call("exec", args{"sandbox_id": id, "argv": []string{"printf", c.printf}, "encoding": "base64"}).into(t, &r)
		if r.Stdout != c.base64 || r.Encoding != "base64" {
			t.Errorf("%s: got %q as base64", c.printf, r.Stdout)
		}
	}
}

func TestN9OutputIsBounded(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.call("write_file", args{"sandbox_id": id, "path": "esc", "content": strings.Repeat("\x1b", 100_000)})
	const flood = "yes 0123456789 | head -c 20000000"
	for _, c := range []struct {
		name, command string
		max           int
	}{
		{"stdout", "echo start; " + flood + "; echo end", 20_000},
		{"stderr", flood + " >&2", 20_000},
		{"both", flood + "; " + flood + " >&2", 20_000},
		{"control characters", "cat esc", 20_000},
		{"asked for less", flood, 1000},
		{"asked for none", flood, 0},
		{"asked for more", flood + "; " + flood + " >&2", 200_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := args{"sandbox_id": id, "command": c.command}
			if c.max != 20_000 {
				a["max_output_bytes"] = c.max
			}
			got := b.call("exec", a)
			var r schemas.ExecResult
			got.into(t, &r)
			chars := jsonLen(got.text()) + len(mustJSON(r))
			if most := 50_000; chars > most && c.max <= 20_000 || chars > maxResultChars {
				t.Errorf("%d characters", chars)
			}
			if len(r.Stdout) > c.max || len(r.Stderr) > c.max || !utf8.ValidString(r.Stdout) {
				t.Errorf("%d and %d bytes", len(r.Stdout), len(r.Stderr))
			}
			if !r.Truncated || r.StdoutBytes+r.StderrBytes < 100_000 || r.StdoutTruncated != (r.StdoutBytes > 50) {
				t.Errorf("truncated %v, stdout %v of %d, stderr %v of %d", r.Truncated, r.StdoutTruncated, r.StdoutBytes, r.StderrTruncated, r.StderrBytes)
			}
			if !strings.Contains(got.text(), strings.TrimSuffix(r.Stdout, "\n")) || !strings.Contains(got.text(), strings.TrimSuffix(r.Stderr, "\n")) ||
				strings.Contains(got.text(), "--- stdout, truncated, ") != r.StdoutTruncated || strings.Contains(got.text(), "--- stderr, truncated, ") != r.StderrTruncated {
				t.Error("text and structuredContent do not show the same")
			}
			if c.name == "stdout" && len(r.Stdout) < 19_900 || c.max > 20_000 && len(r.Stdout) < 100_000 {
				t.Errorf("only %d bytes are shown", len(r.Stdout))
			}
			if c.name == "stdout" && (!strings.HasPrefix(r.Stdout, "start\n") || !strings.HasSuffix(r.Stdout, "end\n") || strings.Count(r.Stdout, "left out here") != 1) {
				t.Errorf("head and tail are %.20q and %q", r.Stdout, r.Stdout[len(r.Stdout)-20:])
			}
		})
	}
}

func TestBase64IsCutAtAnEnd(t *testing.T) {
	b := newBench(t)
	id := b.create()
	var r schemas.ExecResult
	b.call("exec", args{"sandbox_id": id, "command": "yes abc | head -c 1000000", "encoding": "base64"}).into(t, &r)
	raw, err := base64.StdEncoding.DecodeString(r.Stdout)
	if err != nil || !strings.HasPrefix(strings.Repeat("abc\n", 30_000), string(raw)) || len(raw) < 17_900 || !r.StdoutTruncated || r.StdoutBytes != 1_000_000 {
		t.Errorf("%v, %d bytes, %v, %d", err, len(raw), r.StdoutTruncated, r.StdoutBytes)
	}
}

// The server's own cap holds here too.
func TestExecOutputIsWithinTheServersCap(t *testing.T) {
	b := newBench(t)
	id := b.create()
	b.configure(func(c *manager.Config) { c.MaxExecOutputBytes = 300 })
	for _, a := range []args{{}, {"max_output_bytes": 200_000}} {
		a["sandbox_id"], a["command"] = id, "yes abc | head -c 10000; echo end"
		var r schemas.ExecResult
		got := b.call("exec", a)
		got.into(t, &r)
		if len(r.Stdout) > 300 || !r.Truncated || r.StdoutBytes != 10_004 || len(got.text()) > 500 || !strings.HasSuffix(got.text(), "\nend") {
			t.Errorf("%v: %d bytes, truncated %v, text %q", a["max_output_bytes"], len(r.Stdout), r.Truncated, got.text())
		}
	}
}

// mustJSON is v as a client that shows its model JSON writes it.
func mustJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}
