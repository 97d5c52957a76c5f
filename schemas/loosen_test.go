package schemas

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeArgsTakesWhatIsMeant(t *testing.T) {
	half, ten, yes, wait := 0.5, int64(10), true, 3.0
	in := `{"sandbox_id":"sb_0123456789abcdef","command":"[\"echo\",\"a b\"]","timeout_seconds":"0.5","max_output_bytes":" 10 ",
		"background":"True","env":"{\"PORT\":8080,\"DEBUG\":true,\"A\":\"b\"}","wait_seconds":"3","encoding":"","stdin":""}`
	var got ExecArgs
	if err := DecodeArgs([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	empty := ""
	want := ExecArgs{
		InSandbox: InSandbox{"sb_0123456789abcdef"}, Command: &CommandArg{Command{Argv: []string{"echo", "a b"}}},
		TimeoutSeconds: &half, Background: yes, Env: map[string]string{"PORT": "8080", "DEBUG": "true", "A": "b"},
		WaitSeconds: &wait, Stdin: &empty, OutputArgs: OutputArgs{MaxOutputBytes: &ten},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for in, want := range map[string][]string{
		`["sleep", 5, 1.50, true]`: {"sleep", "5", "1.50", "true"}, `"[\"a\",1]"`: {"a", "1"}, `""`: nil,
	} {
		var got ExecArgs
		err := DecodeArgs([]byte(`{"sandbox_id":"sb_0123456789abcdef","command":"","argv":`+in+`}`), &got)
		if d := cmp.Diff(want, got.Argv); err != nil || d != "" {
			t.Errorf("%s: %v, %s", in, err, d)
		}
	}
}

// What could be meant in more than one way is refused, and nothing is made of text
// that happens to look like something.
func TestDecodeArgsDoesNotGuess(t *testing.T) {
	const id = `{"sandbox_id":"sb_0123456789abcdef",`
	for in, want := range map[string]string{
		id + `"timeout_seconds":"30s"}`:         `timeout_seconds: must be a number, got "30s"`,
		id + `"timeout_seconds":"1,5"}`:         `timeout_seconds: must be a number, got "1,5"`,
		id + `"timeout_seconds":true}`:          `timeout_seconds: must be a number, got true`,
		id + `"background":"yes"}`:              `background: must be true or false, got "yes"`,
		id + `"background":1}`:                  `background: must be true or false, got 1`,
		id + `"max_output_bytes":"1.5"}`:        `max_output_bytes: must be a whole number, got 1.5`,
		id + `"argv":"ls -l"}`:                  `argv: must be an array, each element a string, got "ls -l"`,
		id + `"argv":[["ls"]]}`:                 `argv: must be an array, each element a string, got an array at position 0`,
		id + `"env":"A=B"}`:                     `env: must be an object, each value a string, got a string`,
		id + `"env":"{\"A\":{}}"}`:              `env: must be an object, each value a string, got a string`,
		id + `"workdir":7}`:                     `workdir: must be a string, got 7`,
		`{"sandbox_id":""}`:                     `sandbox_id: must be a sandbox ID: "sb_" and 16 lower-case hex digits`,
		`{"sandbox_id":" sb_0123456789abcdef"}`: `sandbox_id: must be a sandbox ID: "sb_" and 16 lower-case hex digits`,
	} {
		var got ExecArgs
		if err := DecodeArgs([]byte(in), &got); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
	var w WriteFileArgs
	for _, text := range []string{`"5"`, `"true"`, `"[1,2]"`, `"{}"`, `" "`, `""`} {
		if err := DecodeArgs([]byte(id+`"path":"a","content":`+text+`}`), &w); err != nil || `"`+*w.Content+`"` != text {
			t.Errorf("content %s became %q, %v", text, *w.Content, err)
		}
	}
	var e ExecArgs
	for _, text := range []string{"[ -f a ] && echo", "[]", "[a-z]*", "5", "true", ""} {
		if err := DecodeArgs([]byte(id+`"command":"`+text+`"}`), &e); err != nil || e.Command.Shell != text {
			t.Errorf("command %q became %+v, %v", text, e.Command, err)
		}
	}
}

func TestMeant(t *testing.T) {
	names := []string{"sandbox_id", "command", "workdir", "timeout_seconds", "path"}
	for name, want := range map[string]string{
		"cmd": "command", "sandboxId": "sandbox_id", "SANDBOX-ID": "sandbox_id", "id": "sandbox_id", "comand": "command", "commnad": "command",
		"timeout": "timeout_seconds", "cwd": "workdir", "directory": "workdir", "file_path": "path", "zzz": "", "": "", "old_string": "",
	} {
		if got := meant(name, names); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
