package e2e

import (
	"encoding/base64"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func oddNames(b *sandbox) {
	names := []string{"new\nline", "tab\there", "cr\rhere", `quo"te`, "apo'strophe", `back\slash`, "-dash", "*", "sp ace",
		"😀", strings.Repeat("é", 127), "a;b", "$HOME", "#", "trailing.", "café\u0301"}
	for _, name := range names {
		b.write("odd/"+name, name)
	}
	listed := map[string]bool{}
	for _, f := range b.files("odd") {
		listed[f.Name] = true
		if r := b.read(f.Path); r.Content != f.Name {
			b.t.Errorf("%q: read %q", f.Name, r.Content)
		}
	}
	for _, name := range names {
		if !listed[name] {
			b.t.Errorf("%q is not listed", name)
		}
	}
	b.must(`printf x > "odd/$(printf 'bad\377name')"`)
	for _, f := range b.files("odd") {
		if f.NameBase64 != "" {
			raw, err := base64.StdEncoding.DecodeString(f.NameBase64)
			if err != nil || string(raw) != "bad\xffname" {
				b.t.Errorf("a name that is not UTF-8: %q, %v", raw, err)
			}
			return
		}
	}
	b.t.Error("the name that is not UTF-8 is not listed as such")
}

func namesNotRun(b *sandbox) {
	for _, name := range []string{"$(touch PWN)", "`touch PWN`", ";touch PWN", "-rf", "a b", `'"`, "|touch PWN", "&touch PWN"} {
		b.write(name, name)
		if r := b.read(name); r.Content != name {
			b.t.Errorf("%q: read %q", name, r.Content)
		}
	}
	if r := b.sh("test -e PWN"); r.ExitCode == 0 {
		b.t.Error("a name was run")
	}
}

func oddWorkdirs(b *sandbox) {
	b.must("ln -s /proc/1/root rootlink; echo x > plainfile")
	for _, dir := range []string{"/no/such", "plainfile", "plainfile/x"} {
		err := b.refuse("exec", args{"sandbox_id": b.ID, "command": "ls", "workdir": dir}, schemas.CodeInvalidRequest)
		if err != nil && !strings.Contains(err.Error(), "workdir") && !strings.Contains(err.Error(), dir) {
			b.t.Errorf("%s: the message does not name it: %v", dir, err)
		}
	}
	dirs := []string{"/proc/1/root", "/proc/1/cwd", "rootlink"}
	for fd := range 24 {
		dirs = append(dirs, "/proc/self/fd/"+itoa(fd), "/proc/1/fd/"+itoa(fd))
	}
	root := b.must("ls -id /")
	for _, dir := range dirs {
		// Refused, or inside: from there the root is the sandbox's own.
		r, err := b.trySh("ls -id /; cd -P .. && ls -a; while [ $(pwd -P) != / ]; do cd -P ..; done; ls -id .", args{"workdir": dir})
		if err != nil && client.Code(err) != string(schemas.CodeInvalidRequest) {
			b.t.Errorf("%s: %v", dir, err)
		}
		if err == nil && r.ExitCode == 0 && !strings.HasPrefix(r.Stdout, root) || strings.Contains(strings.ReplaceAll(r.Stdout, ".dockerenv", ""), "docker") {
			b.t.Errorf("%s leads to %q", dir, r.Stdout)
		}
	}
	b.must("mkdir -p sub/dir")
	if out := b.must("pwd", args{"workdir": "sub/dir"}); out != "/workspace/sub/dir\n" {
		b.t.Errorf("relative: got %q", out)
	}
	if out := b.must("pwd"); out != "/workspace\n" {
		b.t.Errorf("default: got %q", out)
	}
}

func oddEnvironments(b *sandbox) {
	for _, key := range []string{"A; touch /workspace/PWN2 #", "A=B", "", "1A", "A-B", "Ä"} {
		b.refuse("exec", args{"sandbox_id": b.ID, "command": "true", "env": map[string]string{key: "v"}}, schemas.CodeInvalidRequest)
		b.refuse("sandbox_create", args{"env": map[string]string{key: "v"}}, schemas.CodeInvalidRequest)
	}
	b.refuse("exec", args{"sandbox_id": b.ID, "command": "true", "env": map[string]string{"A": "nul\x00"}}, schemas.CodeInvalidRequest)
	odd := "line\nbreak 'quote' \"double\" $HOME `x` \\ é"
	if out := b.must(`printf %s "$ODD"`, args{"env": map[string]string{"ODD": odd}}); out != odd {
		b.t.Errorf("got %q", out)
	}
	long := strings.Repeat("v", 120<<10)
	if out := b.must(`printf %s "$LONG" | wc -c`, args{"env": map[string]string{"LONG": long}}); strings.TrimSpace(out) != itoa(len(long)) {
		b.t.Errorf("a long value arrived with %q", out)
	}
	r, err := b.trySh("true", args{"env": map[string]string{"LONG": strings.Repeat("v", 200<<10)}})
	if err != nil && client.Code(err) != string(schemas.CodeInvalidRequest) || err == nil && r.ExitCode != 126 {
		b.t.Errorf("a value longer than the kernel takes: %+v, %v", r, err)
	}
	if r := b.sh("test -e PWN2"); r.ExitCode == 0 {
		b.t.Error("a key was run")
	}
	b.layers()
}

// layers of the environment: the image's, the sandbox's, the call's.
func (b *sandbox) layers() {
	other := b.create(args{"env": map[string]string{"X": "sandbox", "Y": "sandbox"}})
	out := other.must("echo $X $Y $HOME", args{"env": map[string]string{"Y": "call"}})
	if out != "sandbox call /workspace\n" {
		b.t.Errorf("layers: got %q", out)
	}
}

// badWorkspace: what a command did to /workspace is no reason to lose the sandbox.
func badWorkspace(s *server) {
	b := s.create()
	b.must("echo x > f")
	snap := b.snapshot("good")
	for _, harm := range []string{"rm -rf /workspace/* /workspace/.[!.]*; rmdir /workspace", "chmod 000 /workspace"} {
		b.sh(harm)
		for _, tool := range []string{"exec", "write_file", "list_files", "snapshot"} {
			a := map[string]args{
				"exec": {"command": "pwd"}, "write_file": {"path": "new", "content": "x"}, "list_files": {}, "snapshot": {},
			}[tool].with(args{"sandbox_id": b.ID})
			if err := b.Call(ctx(s.t), tool, a, nil); err != nil && (client.Code(err) == "" || client.Code(err) == string(schemas.CodeInternal)) {
				s.t.Errorf("%s after %q: %v", tool, harm, err)
			}
		}
		b.rollback(snap.ID)
		if out := b.must("cat f"); out != "x\n" {
			s.t.Errorf("after the rollback: %q", out)
		}
	}
}
