package e2e

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func noNoise(b *sandbox) {
	quiet := func(command string, more ...args) {
		b.t.Helper()
		if r := b.sh(command, more...); r.Stdout != "" || r.Stderr != "" || r.ExitCode != 0 {
			b.t.Errorf("%s %v: %+v", command, more, r)
		}
	}
	quiet("true")
	quiet(":")
	quiet("true", args{"workdir": "/"})
	b.sh("head -c 999m /dev/zero > /tmp/fill 2>/dev/null")
	quiet("true")
	b.must("rm /tmp/fill")
}

func statusAndStreams(b *sandbox) {
	for _, c := range []struct {
		command, stdout, stderr string
		code                    int
	}{
		{"echo o; echo e >&2; exit 3", "o\n", "e\n", 3},
		{"false | true", "", "", 0},
		{"true | false", "", "", 1},
		{"echo first\necho second\nfalse", "first\nsecond\n", "", 1},
		{"set -e\nfalse\necho never", "", "", 1},
		{"exit 255", "", "", 255},
	} {
		r := b.sh(c.command)
		if r.Stdout != c.stdout || r.Stderr != c.stderr || r.ExitCode != c.code || r.Signal != nil {
			b.t.Errorf("%q: got %+v", c.command, r)
		}
	}
}

// silentCommand: a client that counts silence as death sees signs of life.
func silentCommand(b *sandbox) {
	silence := count(20, 90)
	var notices atomic.Int32
	a := args{"sandbox_id": b.ID, "command": fmt.Sprintf("sleep %d; echo done", silence), "timeout_seconds": 180, "wait_seconds": 180}
	r, err := b.Live(within(b.t, 3*time.Minute), a, func(string) { notices.Add(1) })
	if err != nil || r.Stdout != "done\n" {
		b.t.Errorf("got %+v, %v", r, err)
	}
	if int(notices.Load()) < silence/15 {
		b.t.Errorf("%d notices in %d s of silence", notices.Load(), silence)
	}
}

func overCapInParallel(b *sandbox) {
	repeat(b.t, count(12, 50), 6, func(i int) error {
		r, err := b.trySh("head -c 50000000 /dev/zero")
		if err != nil || !r.Truncated || !r.StdoutTruncated || r.ExitCode != 0 || r.StdoutBytes != 50_000_000 {
			return fmt.Errorf("run %d: truncated %t, exit code %d, %d bytes, %v", i, r.Truncated, r.ExitCode, r.StdoutBytes, err)
		}
		return nil
	})
}

func capIsExact(b *sandbox) {
	const limit = 500
	for n := limit - 1; n <= limit+1; n++ {
		for _, form := range []string{"head -c %d /dev/zero | tr '\\0' x", "i=0; while [ $i -lt %d ]; do printf x; i=$((i+1)); done"} {
			r := b.sh(fmt.Sprintf(form, n), args{"max_output_bytes": limit})
			if r.StdoutBytes != int64(n) || r.StdoutTruncated != (n > limit) {
				b.t.Errorf("%d bytes with a cap of %d: counted %d, truncated %t", n, limit, r.StdoutBytes, r.StdoutTruncated)
			}
			if n <= limit && len(r.Stdout) != n {
				b.t.Errorf("%d bytes with a cap of %d: got %d", n, limit, len(r.Stdout))
			}
		}
	}
}

func busySandbox(b *sandbox) {
	wait := inBackground(func() {
		b.trySh("for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; sleep 60", args{"timeout_seconds": 8})
	})
	eventually(b.t, 10*time.Second, "the loops run", func() (bool, any) {
		r, err := b.trySh("cat /proc/loadavg; ps | wc -l")
		return err == nil, r
	})
	took(b.t, 5*time.Second, "echo in a busy sandbox", func() { b.alive() })
	took(b.t, 5*time.Second, "write_file in a busy sandbox", func() { b.write("busy.txt", "here\n") })
	took(b.t, 5*time.Second, "read_file in a busy sandbox", func() {
		call[any](b.server, "read_file", args{"sandbox_id": b.ID, "path": "busy.txt"})
	})
	wait()
}

// containerDies comes last of its sandbox: what it had outside /workspace is lost.
func containerDies(b *sandbox) {
	b.must("echo kept > kept.txt")
	container := b.containerOf(string(b.ID))
	var err error
	wait := inBackground(func() { _, err = b.trySh("touch started; sleep 300", args{"timeout_seconds": 300}) })
	eventually(b.t, 10*time.Second, "the command runs", func() (bool, any) {
		r, err := b.trySh("ls started")
		return r.ExitCode == 0, err
	})
	took(b.t, 6*time.Second, "the end of a command whose container was killed", func() {
		b.mustDocker("kill", container)
		wait()
	})
	if err == nil || client.Code(err) == "" || client.Code(err) == string(schemas.CodeInternal) {
		b.t.Errorf("got %v, want a typed error", err)
	}
	if out := b.must("cat kept.txt"); out != "kept\n" {
		b.t.Errorf("after the container was started again: got %q", out)
	}
}
