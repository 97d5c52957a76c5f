package schemas

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeNamesWhatIsWrong(t *testing.T) {
	const id = `"sandbox_id":"sb_0123456789abcdef"`
	for _, c := range []struct{ name, in, want string }{
		{"nothing", ``, "must be a JSON object, got nothing"},
		{"array", `[1]`, "must be a JSON object, got an array"},
		{"null", `null`, "must be a JSON object, got null"},
		{"trailing data", `{` + id + `} {}`, "must be one JSON object; at byte 38: invalid character '{' after top-level value"},
		{"cut off", `{` + id, "must be one JSON object; at byte 35: unexpected end of JSON input"},
		{"D11 not UTF-8", `{` + id + `,"command":"caf` + "\xe9" + `"}`, "must be JSON in UTF-8; at byte 51 it is something else"},
		{"missing", `{"command":"ls"}`, "sandbox_id: is required"},
		{"null for a required field", `{"sandbox_id":null}`, "sandbox_id: is required"},
		{"unknown", `{` + id + `,"cmd":"ls"}`, "cmd: is not a known field; did you mean command? Known are sandbox_id, command, argv, workdir, env, wait_seconds, background, timeout_seconds, stdin, stdin_base64, encoding, max_output_bytes"},
		{"letter case", `{` + id + `,"Command":"ls"}`, "Command: is not a known field; did you mean command? Known are sandbox_id, command, argv, workdir, env, wait_seconds, background, timeout_seconds, stdin, stdin_base64, encoding, max_output_bytes"},
		{"number for string", `{` + id + `,"workdir":7}`, "workdir: must be a string, got 7"},
		{"string for number", `{` + id + `,"timeout_seconds":"5"}`, "timeout_seconds: must be a number, got \"5\""},
		{"fraction for integer", `{` + id + `,"max_output_bytes":1.5}`, "max_output_bytes: must be a whole number, got 1.5"},
		{"huge integer", `{` + id + `,"max_output_bytes":1e30}`, "max_output_bytes: must be a whole number, got 1e30"},
		{"map", `{` + id + `,"env":["A=1"]}`, "env: must be an object, each value a string, got an array"},
		{"map value", `{` + id + `,"env":{"A":1}}`, "env: must be an object, each value a string, got a number for A"},
		{"array element", `{` + id + `,"argv":["a",1]}`, "argv: must be an array, each element a string, got 1 at position 1"},
		{"bad command", `{` + id + `,"command":{"a":1}}`, "command: must be a string or an array of strings"},
		{"bad ID", `{"sandbox_id":"sb_../x"}`, `sandbox_id: must be a sandbox ID: "sb_" and 16 lower-case hex digits`},
		{"another kind of ID", `{"sandbox_id":"snap_0123456789abcdef"}`, `sandbox_id: must be a sandbox ID: "sb_" and 16 lower-case hex digits; snap_0123456789abcdef is the ID of a snapshot`},
		{"bad encoding", `{` + id + `,"encoding":"latin1"}`, `encoding: must be "utf-8" or "base64"`},
		{"several", `{"workdir":1,"env":true}`, "sandbox_id: is required; workdir: must be a string, got 1; env: must be an object, each value a string, got true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var args ExecArgs
			err := Decode([]byte(c.in), &args)
			var mistake *DecodeError
			if !errors.As(err, &mistake) {
				t.Fatalf("got %v, want a DecodeError", err)
			}
			if d := cmp.Diff(c.want, err.Error()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeTakes(t *testing.T) {
	var args ExecArgs
	in := ` {"sandbox_id":"sb_0123456789abcdef","command":["echo","a b"],"timeout_seconds":0.5,
		"max_output_bytes":30.0,"env":{"A":"1"},"stdin":null,"encoding":null} `
	if err := Decode([]byte(in), &args); err != nil {
		t.Fatal(err)
	}
	req, err := args.Request()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(req.Command.Argv, "|"); got != "echo|a b" || *req.TimeoutSeconds != 0.5 || req.Env["A"] != "1" || *args.MaxOutputBytes != 30 || req.Stdin != nil {
		t.Errorf("got %+v", req)
	}
}

func TestDecodeKeepsWholeNumbers(t *testing.T) {
	var args ReadFileArgs
	if err := Decode([]byte(`{"sandbox_id":"sb_0123456789abcdef","path":"a","offset":9007199254740993}`), &args); err != nil {
		t.Fatal(err)
	}
	if *args.Offset != 9007199254740993 {
		t.Errorf("offset is %d: it went through a float", *args.Offset)
	}
}

func TestExecTakesOneFormOfCommand(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                           "command: is required, unless argv is given",
		`{"command":"a","argv":["b"]}`: "command: must not be given together with argv",
		`{"argv":[]}`:                  "command: is required, unless argv is given",
	} {
		var args ExecArgs
		if err := Decode([]byte(strings.Replace(in, "{", `{"sandbox_id":"sb_0123456789abcdef",`, 1)), &args); err != nil && in != `{}` {
			t.Fatal(err)
		}
		if _, err := args.Request(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}

// requests is all that comes in as JSON, over either door.
var requests = []func() any{
	func() any { return new(ExecArgs) }, func() any { return new(ExecPollArgs) }, func() any { return new(ExecInputArgs) },
	func() any { return new(ExecKillArgs) }, func() any { return new(ReadFileArgs) }, func() any { return new(WriteFileArgs) },
	func() any { return new(EditFileArgs) }, func() any { return new(ListFilesArgs) }, func() any { return new(SnapshotArgs) },
	func() any { return new(SnapshotListArgs) }, func() any { return new(SnapshotDeleteArgs) }, func() any { return new(RollbackArgs) },
	func() any { return new(ForkArgs) }, func() any { return new(SetTimeoutArgs) }, func() any { return new(PageArgs) },
	func() any { return new(CreateSandboxRequest) }, func() any { return new(ExecRequest) }, func() any { return new(SignalRequest) },
	func() any { return new(MkdirRequest) }, func() any { return new(MoveRequest) }, func() any { return new(SnapshotRequest) },
	func() any { return new(RollbackRequest) }, func() any { return new(ForkRequest) }, func() any { return new(ResizeMessage) },
}

// FuzzDecode: any JSON for any request, strictly and as a model writes it, is
// taken, or refused in words that are not much longer than what was sent. What is
// taken strictly is taken loosely, too.
func FuzzDecode(f *testing.F) {
	for i := range requests {
		f.Add(byte(i), []byte(`{"sandbox_id":"sb_0123456789abcdef","snapshot_id":"snap_0123456789abcdef","path":"a"}`))
	}
	f.Add(byte(0), []byte(`{"sandbox_id":"sb_0123456789abcdef","command":"ls","env":{"A":"b"}}`))
	f.Add(byte(0), []byte(`"{\"sandbox_id\":\"sb_0123456789abcdef\",\"argv\":\"[1]\",\"timeout_seconds\":\"5\"}"`))
	f.Add(byte(15), []byte(`{"cpus":1e309,"memory_mb":-9223372036854775809,"env":null,"network":"true","image":{}}`))
	f.Add(byte(16), []byte(`{"command":["a",null],"stdin_base64":"!","timeout_seconds":1e-400}`))
	f.Add(byte(1), []byte(`{"a":1,"":[{}],"a":2}`))
	f.Fuzz(func(t *testing.T, n byte, b []byte) {
		request := requests[int(n)%len(requests)]
		strict := Decode(b, request())
		loose := DecodeArgs(b, request())
		for _, err := range []error{strict, loose} {
			if err != nil && (err.Error() == "" || len(err.Error()) > 4000+8*len(b)) {
				t.Errorf("%q: refused in %d bytes", b, len(err.Error()))
			}
		}
		if strict == nil && loose != nil {
			t.Errorf("%q is right, but refused where less is asked for: %v", b, loose)
		}
	})
}
