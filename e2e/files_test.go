package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestFiles: paths, names, ownership.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := start(t)
	runCases(t, s.create(), append([]testCase[*sandbox]{
		{"F edit_file", editFile},
	}, fileCases...))
	runCases(t, s, fileServerCases)
}

// fileServerCases hold at every door.
var fileServerCases = []testCase[*server]{
	{"F15 a workspace in a bad way", badWorkspace},
	{"F20 home without a passwd entry", home},
	{"F21 programs in /tmp", programsInTmp},
}

// fileCases hold at every door.
var fileCases = []testCase[*sandbox]{
	{"F1 beside the workspace", besideWorkspace},
	{"F2 names that begin with dots", dotNames},
	{"F3 paths out of the workspace", pathsOut},
	{"F4 symlinks out of the workspace", symlinksOut},
	{"F6 what is no file", notFiles},
	{"F7 files and directories in each other's place", wrongKind},
	{"F8 written files belong to the sandbox user", ownFiles},
	{"F11 odd names", oddNames},
	{"F12 names are never run", namesNotRun},
	{"F16 odd working directories", oddWorkdirs},
	{"F17 odd environments", oddEnvironments},
	{"F18 long names", longNames},
}

// escapes are refused for writing, whatever they name.
func (b *sandbox) escapes(paths ...string) {
	b.t.Helper()
	for _, p := range paths {
		b.refuse("write_file", args{"sandbox_id": b.ID, "path": p, "content": "evil"}, schemas.CodeInvalidRequest)
	}
}

func besideWorkspace(b *sandbox) {
	b.escapes("/workspace-evil/x", "/workspacefoo", "/workspace\u2215x", "../workspace-evil/x", "/workspace/../../x")
	b.alive()
}

func dotNames(b *sandbox) {
	for _, name := range []string{"..config/a", "...", "a..b", ".hidden", " lead", "trail ", "..config/..b"} {
		b.write("/workspace/"+name, name)
		if r := b.read("/workspace/" + name); r.Content != name {
			b.t.Errorf("%q: read %q", name, r.Content)
		}
	}
	var names []string
	for _, f := range b.files("/workspace") {
		names = append(names, f.Name)
	}
	for _, want := range []string{"..config", "...", "a..b", ".hidden", " lead", "trail "} {
		if !strings.Contains("\x00"+strings.Join(names, "\x00")+"\x00", "\x00"+want+"\x00") {
			b.t.Errorf("%q is not listed in %q", want, names)
		}
	}
}

func pathsOut(b *sandbox) {
	b.escapes("/workspace/../etc/passwd", "/workspace/a/../../etc/passwd", "/workspace//../etc/x", "/etc/passwd",
		"/proc/self/environ", "/", "", "a\x00b", "/tmp/x", "..", "../..")
	for _, p := range []string{"", "a\x00b", strings.Repeat("a/", 2500)} {
		b.refuse("read_file", args{"sandbox_id": b.ID, "path": p}, schemas.CodeInvalidRequest)
	}
	// Odd, but names inside.
	for _, p := range []string{"%2e%2e%2fetc", "..\\x", "%252e%252e"} {
		b.write(p, "inside")
	}
	if out := b.must("ls -d '%2e%2e%2fetc' '..\\x' '%252e%252e' | wc -l"); strings.TrimSpace(out) != "3" {
		b.t.Errorf("got %q", out)
	}
	// Reading outside is what an exec could do: the sandbox's files, not the host's.
	if r, err := try[schemas.FileContent](b.server, "read_file", args{"sandbox_id": b.ID, "path": "/workspace/../etc/hostname"}); err == nil && strings.TrimSpace(r.Content) != "sandbox" {
		b.t.Errorf("/etc/hostname: got %q", r.Content)
	}
}

func symlinksOut(b *sandbox) {
	b.must("ln -s /etc e; ln -s /etc/passwd p; ln -s /proc/1/environ q; ln -s e f; ln -s /tmp t; mkdir inner; ln -s inner in")
	b.escapes("e/new", "f/passwd", "p", "q", "t/new")
	b.write("in/side", "inside\n")
	if out := b.must("cat inner/side; ls /tmp"); out != "inside\n" {
		b.t.Errorf("got %q", out)
	}
	for _, f := range b.files("/workspace") {
		if len(f.Name) == 1 && strings.Contains("epqft", f.Name) && (f.Type != schemas.TypeSymlink || f.LinkTarget == "") {
			b.t.Errorf("%s is listed as %s to %q", f.Name, f.Type, f.LinkTarget)
		}
	}
	err := b.Call(ctx(b.t), "read_file", args{"sandbox_id": b.ID, "path": "q"}, nil)
	if err == nil || client.Code(err) == string(schemas.CodeInternal) {
		b.t.Errorf("the init's environment: %v", err)
	}
}

func notFiles(b *sandbox) {
	b.must("mkfifo fifo; mkdir dir; echo x > file")
	for _, c := range []struct {
		tool, path string
		codes      []schemas.Code
	}{
		{"read_file", "fifo", []schemas.Code{schemas.CodeInvalidRequest}},
		{"write_file", "fifo", []schemas.Code{schemas.CodeInvalidRequest}},
		{"read_file", "/dev/zero", []schemas.Code{schemas.CodeInvalidRequest}},
		{"read_file", "dir", []schemas.Code{schemas.CodeInvalidRequest}},
		{"list_files", "file", []schemas.Code{schemas.CodeInvalidRequest}},
		{"list_files", "none", []schemas.Code{schemas.CodeNotFound}},
		{"read_file", "none", []schemas.Code{schemas.CodeNotFound}},
		{"read_file", "/etc/shadow-none", []schemas.Code{schemas.CodeNotFound}},
	} {
		a := args{"sandbox_id": b.ID, "path": c.path}
		if c.tool == "write_file" {
			a["content"] = "x"
		}
		took(b.t, 3*time.Second, c.tool+" "+c.path, func() { b.refuse(c.tool, a, c.codes...) })
	}
	types := map[string]schemas.FileType{"fifo": schemas.TypeOther, "dir": schemas.TypeDirectory, "file": schemas.TypeFile}
	for _, f := range b.files("/workspace") {
		if want, ok := types[f.Name]; ok && f.Type != want {
			b.t.Errorf("%s is listed as %s", f.Name, f.Type)
		}
	}
}

func wrongKind(b *sandbox) {
	for range 2 {
		b.write("/workspace/new/deep/m.txt", "content\n")
	}
	before := b.must("find new file dir 2>/dev/null | sort")
	b.refuse("write_file", args{"sandbox_id": b.ID, "path": "new/deep", "content": "x"}, schemas.CodeInvalidRequest, schemas.CodeConflict)
	b.refuse("write_file", args{"sandbox_id": b.ID, "path": "new/deep/m.txt/y", "content": "x"}, schemas.CodeInvalidRequest, schemas.CodeConflict)
	b.refuse("write_file", args{"sandbox_id": b.ID, "path": "new/slash/", "content": "x"}, schemas.CodeInvalidRequest, schemas.CodeConflict)
	if after := b.must("find new file dir 2>/dev/null | sort"); after != before {
		b.t.Errorf("files changed from %q to %q", before, after)
	}
	if out := b.must("cat new/deep/m.txt"); out != "content\n" {
		b.t.Errorf("got %q", out)
	}
}

func ownFiles(b *sandbox) {
	b.write("own/nested/f.sh", "#!/bin/sh\necho ran\n")
	out := b.must(`stat -c '%u:%g %a' own own/nested own/nested/f.sh; echo 'echo more' >> own/nested/f.sh; chmod 755 own/nested/f.sh; own/nested/f.sh`)
	if want := "1000:1000 755\n1000:1000 755\n1000:1000 644\nran\nmore\n"; out != want {
		b.t.Errorf("got %q, want %q", out, want)
	}
	b.write("own/nested/f.sh", "#!/bin/sh\necho again\n")
	if out := b.must("own/nested/f.sh; mv own moved; rm -r moved"); out != "again\n" {
		b.t.Errorf("after it was overwritten: %q", out)
	}
}

func longNames(b *sandbox) {
	b.write(strings.Repeat("n", 255), "x")
	b.refuse("write_file", args{"sandbox_id": b.ID, "path": strings.Repeat("n", 256), "content": "x"}, schemas.CodeInvalidRequest)
	b.refuse("write_file", args{"sandbox_id": b.ID, "path": strings.Repeat("d/", 2500), "content": "x"}, schemas.CodeInvalidRequest)
	// As long as a path may be, from the root on.
	deep := strings.Repeat("d123456789/", 370)
	err := b.Call(ctx(b.t), "write_file", args{"sandbox_id": b.ID, "path": deep + "f", "content": "x"}, nil)
	if err != nil && client.Code(err) != string(schemas.CodeInvalidRequest) {
		b.t.Errorf("a path of %d bytes: %v", len(deep)+1, err)
	}
	b.must("rm -rf d123456789 n*")
}

func editFile(b *sandbox) {
	b.write("edit.txt", "one\ntwo\ntwo\n")
	edit := func(old, new string, all bool) error {
		return b.Call(ctx(b.t), "edit_file", args{"sandbox_id": b.ID, "path": "edit.txt", "old_text": old, "new_text": new, "replace_all": all}, nil)
	}
	if err := edit("one", "1", false); err != nil {
		b.t.Error(err)
	}
	for _, old := range []string{"two", "three"} {
		if err := edit(old, "x", false); client.Code(err) != string(schemas.CodeInvalidRequest) && client.Code(err) != string(schemas.CodeConflict) && client.Code(err) != string(schemas.CodeNotFound) {
			b.t.Errorf("replacing %q: %v", old, err)
		}
	}
	if err := edit("two", "2", true); err != nil {
		b.t.Error(err)
	}
	if out := b.must("cat edit.txt"); out != "1\n2\n2\n" {
		b.t.Errorf("got %q", out)
	}
}

func home(s *server) {
	b := s.create(args{"image": base})
	out := b.must(`echo $HOME; touch $HOME/.x; python3 -c "import os; print(os.path.expanduser('~'))"; git config --global a.b c; git config --global a.b; whoami || true`)
	if !strings.HasPrefix(out, "/workspace\n/workspace\nc\n") {
		s.t.Errorf("got %q", out)
	}
}

func programsInTmp(s *server) {
	b := s.create(args{"image": base})
	for _, dir := range []string{"/tmp", "/workspace"} {
		out := b.must(fmt.Sprintf(`cd %s && printf '#!/bin/sh\necho ran\n' > s && chmod +x s && ./s`, dir))
		if out != "ran\n" {
			s.t.Errorf("%s: got %q", dir, out)
		}
	}
	b.must("python3 -m venv --without-pip /tmp/v && /tmp/v/bin/python -V", args{"timeout_seconds": 120})
}
