package backendtest_test

import (
	"testing"
	"testing/synctest"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestFakeShell pins down what scripts the fake's shell understands.
func TestFakeShell(t *testing.T) {
	for _, c := range []struct {
		script, stdout, stderr string
		code                   int
	}{
		{script: `echo a  b; printf 'x\ny\000\101'`, stdout: "a b\nx\ny\x00A"},
		{script: `echo o; echo e >&2; exit 3`, stdout: "o\n", stderr: "e\n", code: 3},
		{script: `false || echo or && echo and`, stdout: "or\nand\n"},
		{script: `false; echo $?`, stdout: "1\n"},
		{script: `A=1; B="$A 2"; echo "$B" '$B' ${A}3`, stdout: "1 2 $B 13\n"},
		{script: `echo x > f; echo y >> f; cat f; cat < f`, stdout: "x\ny\nx\ny\n"},
		{script: `mkdir d; cd d; pwd; (cd /; pwd); pwd`, stdout: "/workspace/d\n/\n/workspace/d\n"},
		{script: `echo abc | wc -c; yes | head -c 4`, stdout: "4\ny\ny\n"},
		{script: `if test -e no; then echo a; else echo b; fi`, stdout: "b\n"},
		{script: `while :; do echo i; exit 4; done`, stdout: "i\n", code: 4},
		{script: `kill -9 $$; echo never`, code: 137},
		{script: `(sleep 1; echo late) & echo first; wait`, stdout: "first\nlate\n"},
		{script: `no-such-command`, stderr: "no-such-command: not found\n", code: 127},
		{script: `echo x > /etc/x`, stderr: "/etc/x: read-only file system\n", code: 1},
		{script: `echo "`, stderr: "/bin/sh: 1: Syntax error: Unterminated quoted string\n", code: 2},
		{script: "echo a # no\n\necho b &\nwait", stdout: "a\nb\n"},
	} {
		t.Run(c.script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stdout, stderr, exit := shell(t, c.script)
				if stdout != c.stdout || stderr != c.stderr || exit.Code != c.code {
					t.Errorf("got %q, %q, %d", stdout, stderr, exit.Code)
				}
			})
		})
	}
}

func shell(t *testing.T, script string) (stdout, stderr string, exit manager.Exit) {
	f := backendtest.NewFake(t)
	image, err := f.PrepareImage(t.Context(), backendtest.BusyboxImage)
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.Create(t.Context(), manager.Ref{Container: "c", Volume: "v"}, manager.Spec{ReadOnlyRootfs: true}, image)
	if err != nil {
		t.Fatal(err)
	}
	c := manager.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: "/workspace", MaxStdout: -1, MaxStderr: -1}
	exit, err = g.Exec(t.Context(), c, func(s schemas.Stream, chunk []byte) error {
		if s == schemas.Stdout {
			stdout += string(chunk)
		} else {
			stderr += string(chunk)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return stdout, stderr, exit
}
