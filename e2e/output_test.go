package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestOutput: much output, large files, long lists, and a flat server.
func TestOutput(t *testing.T) {
	t.Parallel()
	s := start(t)
	runCases(t, s.create(), outputCases)
}

// outputCases hold at every door.
var outputCases = []testCase[*sandbox]{
	{"E1 gigabytes of output", hugeOutput},
	{"E2 the cap holds during the run", capDuringRun},
	{"E4 flags for each stream", flagsForEach},
	{"E5 enormous file", enormousFile},
	{"E6 long directory", longDirectory},
}

func itoa(n int) string { return strconv.Itoa(n) }

// memory is the server's resident memory in MiB.
func memory(s *server) int {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Pid()))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	var kb int
	fmt.Sscan(rest, &kb)
	return kb >> 10
}

// flat runs f and fails when the server grows meanwhile.
func flat(s *server, f func()) {
	s.t.Helper()
	before, most := memory(s), 0
	done := make(chan struct{})
	wait := inBackground(func() {
		for {
			most = max(most, memory(s))
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	f()
	close(done)
	wait()
	if most > before+64 {
		s.t.Errorf("the server grew from %d to %d MiB", before, most)
	}
}

func hugeOutput(b *sandbox) {
	size := count(300_000_000, 3_000_000_000)
	for _, source := range []string{"yes", "tr '\\0' x < /dev/zero"} {
		flat(b.server, func() {
			r := b.sh(fmt.Sprintf("%s | head -c %d", source, size), args{"timeout_seconds": 120, "wait_seconds": 120})
			if r.StdoutBytes != int64(size) || !r.Truncated || r.ExitCode != 0 {
				b.t.Errorf("%s: %d bytes, truncated %t, exit code %d, timed out %t", source, r.StdoutBytes, r.Truncated, r.ExitCode, r.TimedOut)
			}
		})
	}
}

func capDuringRun(b *sandbox) {
	flat(b.server, func() {
		r := b.sh("yes", args{"timeout_seconds": count(4, 20)})
		if !r.TimedOut || !r.Truncated || r.StdoutBytes < 1<<20 {
			b.t.Errorf("timed out %t, truncated %t, %d bytes", r.TimedOut, r.Truncated, r.StdoutBytes)
		}
	})
}

func flagsForEach(b *sandbox) {
	const much = "seq 50000"
	for command, want := range map[string][2]bool{
		much:                           {true, false},
		much + " >&2":                  {false, true},
		much + "; " + much + " >&2":    {true, true},
		"echo little; echo little >&2": {false, false},
	} {
		r := b.sh(command)
		if got := [2]bool{r.StdoutTruncated, r.StderrTruncated}; got != want || r.Truncated != (want[0] || want[1]) {
			b.t.Errorf("%s: truncated %v and %t, want %v", command, got, r.Truncated, want)
		}
	}
}

func enormousFile(b *sandbox) {
	b.must("truncate -s 20G big")
	flat(b.server, func() {
		repeat(b.t, count(10, 50), 10, func(int) error {
			err := b.Call(ctx(b.t), "read_file", args{"sandbox_id": b.ID, "path": "big"}, nil)
			if err != nil && client.Code(err) != string(schemas.CodePayloadTooLarge) {
				return err
			}
			return nil
		})
	})
	b.must("rm big")
}

func longDirectory(b *sandbox) {
	n := count(10_000, 100_000)
	b.must(fmt.Sprintf(`mkdir many && cd many && seq %d | sed 's/.*/file-&-with-a-name/' | xargs touch`, n), args{"timeout_seconds": 120})
	took(b.t, time.Duration(n/1000)*time.Second, "listing all pages", func() {
		all := b.files("many")
		if len(all) != n {
			b.t.Errorf("listed %d of %d", len(all), n)
		}
		for i := 1; i < len(all); i++ {
			if all[i-1].Name >= all[i].Name {
				b.t.Fatalf("not sorted: %q before %q", all[i-1].Name, all[i].Name)
			}
		}
	})
	b.must("rm -r many")
}
