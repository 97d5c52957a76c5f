package guest

import (
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A process may change the limits, the niceness and the scheduling of any other
// process of its user, dumpable or not. The guest is of that user: without a
// fence a command could take its descriptors (prlimit with RLIMIT_NOFILE), have
// it killed (RLIMIT_CPU) or starve it (SCHED_IDLE). So commands are started
// under a seccomp filter with which these calls fail when they name one of the
// guest's threads, or all processes of the user. Reading limits stays allowed.
//
// The filter also forbids setting RLIMIT_MSGQUEUE, which makes a command's mark
// (see [marker]) one that none of its descendants can put off, and sockets that
// lead past the network name space (see [families]).

// callTable holds the numbers of the fenced calls in one system call table.
type callTable struct {
	arch         uint32
	prlimit      uint32
	setrlimit    uint32
	setpriority  uint32
	ioprioSet    uint32
	firstIsPid   []uint32 // sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr
	socket       uint32
	socketcall   uint32 // 0: the table has none
	ioUringSetup uint32
}

// tables are what a program may use on a machine: its own and that of 32 bits,
// which Docker's filter lets through. The numbers are those of the kernel's
// syscall tables (arch/*/entry/syscalls, asm-generic/unistd.h).
var tables = map[string][]callTable{
	"amd64": {
		{unix.AUDIT_ARCH_X86_64, 302, 160, 141, 251, []uint32{142, 144, 203, 314}, 41, 0, 425},
		{unix.AUDIT_ARCH_I386, 340, 75, 97, 289, []uint32{154, 156, 241, 351}, 359, 102, 425},
	},
	"arm64": {
		{unix.AUDIT_ARCH_AARCH64, 261, 164, 140, 30, []uint32{118, 119, 122, 274}, 198, 0, 425},
		{unix.AUDIT_ARCH_ARM, 369, 75, 97, 314, []uint32{154, 156, 241, 380}, 281, 0, 425},
	},
}

// Where the kernel's struct seccomp_data has what is looked at. An argument has
// 8 bytes, of which the low half comes first on these machines; a pid is what
// the low half holds.
const (
	offNumber = 0
	offArch   = 4
	offArg    = 16
	argSize   = 8

	x32Bit = 0x40000000 // marks calls of the x32 table, whose numbers are amd64's
)

// tids is the range of the guest's threads. All are made at start, before any
// command, and the kernel does not give out such low numbers a second time.
type tids struct{ first, last uint32 }

func ownThreads() tids {
	own := tids{uint32(os.Getpid()), uint32(os.Getpid())}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if tid, err := strconv.ParseUint(t.Name(), 10, 32); err == nil {
			own.last = max(own.last, uint32(tid))
		}
	}
	return own
}

// fence puts the filter on this thread and on all that it will start. Where the
// kernel refuses it (gVisor) there is none.
func fence(guest tids) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := fenceFilter(tables[runtime.GOARCH], guest)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

func fenceFilter(all []callTable, guest tids) (f []unix.SockFilter) {
	for _, t := range all {
		rules := t.rules(guest)
		f = append(f, load(offArch), unlessEqual(t.arch, len(rules)))
		f = append(f, rules...)
	}
	return append(f, allow())
}

// rules deny the calls of one table where they would touch the guest.
func (t callTable) rules(guest tids) (f []unix.SockFilter) {
	f = append(f, load(offNumber), mask(^uint32(x32Bit)))
	f = append(f, when(t.prlimit, // (pid, resource, new, old)
		load(offArg+2*argSize), unlessEqual(0, 2),
		load(offArg+2*argSize+4), ifEqual(0, 6), // new is null: only read
		load(offArg+argSize), ifEqual(unix.RLIMIT_MSGQUEUE, 3),
		load(offArg), unlessAtLeast(guest.first, 2), ifAbove(guest.last, 1),
		deny(), allow())...)
	f = append(f, when(t.setrlimit, // (resource, new)
		load(offArg), unlessEqual(unix.RLIMIT_MSGQUEUE, 1), deny(), allow())...)
	const ioprioWhoUser = 3
	f = append(f, when(t.setpriority, unlessAll(unix.PRIO_USER, guest)...)...)
	f = append(f, when(t.ioprioSet, unlessAll(ioprioWhoUser, guest)...)...)
	for _, number := range t.firstIsPid {
		f = append(f, when(number, spare(0, guest)...)...)
	}
	f = append(f, t.socketRules()...)
	return append(f, allow())
}

// spare denies a call whose argument names a thread, or the group, of the guest.
func spare(argument uint32, guest tids) []unix.SockFilter {
	return []unix.SockFilter{
		load(offArg + argument*argSize), unlessAtLeast(guest.first, 2), ifAbove(guest.last, 1),
		deny(), allow(),
	}
}

// unlessAll is for calls (which, who, …), which may name all of a user's
// processes.
func unlessAll(user uint32, guest tids) []unix.SockFilter {
	return append([]unix.SockFilter{load(offArg), unlessEqual(user, 1), deny()}, spare(1, guest)...)
}

// when skips a block that ends every way unless the call has that number.
func when(number uint32, block ...unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{unlessEqual(number, len(block))}, block...)
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func mask(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k}
}

func unlessEqual(k uint32, skip int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: uint8(skip), K: k}
}

func ifEqual(k uint32, skip int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(skip), K: k}
}

func unlessAtLeast(k uint32, skip int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: uint8(skip), K: k}
}

func ifAbove(k uint32, skip int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, Jt: uint8(skip), K: k}
}

func allow() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
}

func deny() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
}
