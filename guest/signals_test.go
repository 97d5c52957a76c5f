//go:build linux

package guest

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/skip"
)

// No signal from inside ends the guest, however it is sent: with the sender's
// name on it, or so that the Go runtime takes it for a fault of its own.
func TestForgedSignalsDoNotEndTheGuest(t *testing.T) {
	if os.Getuid() != 0 {
		skip.OrFail(t, "the guest must be PID 1, which only root can make it")
	}
	const (
		plain  = `kill $s, 1`
		queued = `my $i = pack("iii x116", $s, 0, -1); syscall(%d, 1, $s+0, $i)`
		// The owner of a socket gets the signal of F_SETSIG when there is input.
		ready = `socketpair(my $a, my $b, 1, 1, 0); fcntl($a, 8, 1); fcntl($a, 10, $s+0); fcntl($a, 4, 020000|04000); syswrite($b, "x")`
	)
	m, c := newGuest(t)
	for name, send := range map[string]string{"kill": plain, "sigqueue": fmt.Sprintf(queued, unix.SYS_RT_SIGQUEUEINFO), "F_SETSIG": ready} {
		t.Run(name, func(t *testing.T) {
			m.sh(c, "perl -e 'for my $s (1..64) { "+send+"; select(undef, undef, undef, 0.01) }; print \"sent\"'").expect(t, 0, "sent", "")
			m.sh(c, "echo alive").expect(t, 0, "alive\n", "")
		})
	}
	for _, sig := range faults { // commands have the default
		if o := m.sh(c, fmt.Sprintf("kill -%d $$; exit 7", sig)); o.ExitCode != 128+int(sig) {
			t.Errorf("signal %d: exit code %d", sig, o.ExitCode)
		}
	}
}
