//go:build linux

package guest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// A command may change its own limits and scheduling, and nobody's through whom
// it would reach the guest, and has only the usual sockets. Perl makes the system calls: a shell cannot, and it
// is on every Debian.
func TestFenceKeepsCommandsOffTheGuest(t *testing.T) {
	const noLimit, idle = `my $p = pack("QQ", 0, 0)`, `my $p = pack("i", 0)`
	for _, call := range []struct {
		name, call string
		allowed    bool
	}{
		{"descriptors of the guest", fmt.Sprintf("%d, 1, %d, %s, 0", unix.SYS_PRLIMIT64, unix.RLIMIT_NOFILE, noLimit), false},
		{"processor time of the guest", fmt.Sprintf("%d, 1, %d, %s, 0", unix.SYS_PRLIMIT64, unix.RLIMIT_CPU, noLimit), false},
		{"limits of a thread of the guest", fmt.Sprintf("%d, 3, %d, %s, 0", unix.SYS_PRLIMIT64, unix.RLIMIT_NOFILE, noLimit), false},
		{"read limits of the guest", fmt.Sprintf(`%d, 1, %d, 0, my $old = "x" x 16`, unix.SYS_PRLIMIT64, unix.RLIMIT_NOFILE), true},
		{"niceness of the guest", fmt.Sprintf("%d, %d, 1, 19", unix.SYS_SETPRIORITY, unix.PRIO_PROCESS), false},
		{"niceness of the guest's group", fmt.Sprintf("%d, %d, 1, 19", unix.SYS_SETPRIORITY, unix.PRIO_PGRP), false},
		{"niceness of the user", fmt.Sprintf("%d, %d, 0, 19", unix.SYS_SETPRIORITY, unix.PRIO_USER), false},
		{"scheduling of the guest", fmt.Sprintf("%d, 1, 5, %s", unix.SYS_SCHED_SETSCHEDULER, idle), false},
		{"scheduling of a thread of the guest", fmt.Sprintf("%d, 2, 5, %s", unix.SYS_SCHED_SETSCHEDULER, idle), false},
		{"processors of the guest", fmt.Sprintf(`%d, 1, 8, my $p = pack("Q", 1)`, unix.SYS_SCHED_SETAFFINITY), false},
		{"disk priority of the user", fmt.Sprintf("%d, 3, 0, 3 << 13", unix.SYS_IOPRIO_SET), false},
		{"own mark", fmt.Sprintf("%d, 0, %d, %s, 0", unix.SYS_PRLIMIT64, unix.RLIMIT_MSGQUEUE, noLimit), false},
		{"own mark, old call", fmt.Sprintf("%d, %d, %s", unix.SYS_SETRLIMIT, unix.RLIMIT_MSGQUEUE, noLimit), false},
		{"socket to the hypervisor", fmt.Sprintf("%d, %d, %d, 0", unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM), false},
		{"socket to the kernel's ciphers", fmt.Sprintf("%d, %d, %d, 0", unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET), false},
		{"queues past the filter", fmt.Sprintf(`%d, 1, my $p = "\0" x 120`, unix.SYS_IO_URING_SETUP), false},
		{"socket between processes", fmt.Sprintf("%d, %d, %d, 0", unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM), true},
		{"socket of the network", fmt.Sprintf("%d, %d, %d, 0", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM), true},
		{"socket of the newer network", fmt.Sprintf("%d, %d, %d, 0", unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM), true},
		{"socket of the network's settings", fmt.Sprintf("%d, %d, %d, 0", unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW), true},
		{"own limits", fmt.Sprintf("%d, 0, %d, %s, 0", unix.SYS_PRLIMIT64, unix.RLIMIT_CORE, noLimit), true},
		{"own limits by number", fmt.Sprintf("%d, $$+0, %d, %s, 0", unix.SYS_PRLIMIT64, unix.RLIMIT_CORE, noLimit), true},
		{"own scheduling", fmt.Sprintf("%d, 0, 5, %s", unix.SYS_SCHED_SETSCHEDULER, idle), true},
		{"own processors by number", fmt.Sprintf(`%d, $$+0, 8, my $p = pack("Q", 1)`, unix.SYS_SCHED_SETAFFINITY), true},
	} {
		t.Run(call.name, func(t *testing.T) {
			m, c := newGuest(t)
			o := m.sh(c, "perl -MErrno -e 'exit(syscall("+call.call+") < 0 ? ($!{EPERM} ? 1 : 2) : 0)'")
			if want := map[bool]int{true: 0, false: 1}[call.allowed]; o.ExitCode != want {
				t.Errorf("exit code %d, want %d; %s", o.ExitCode, want, o.stderr)
			}
			m.sh(c, "true").expect(t, 0, "", "")
		})
	}
}
