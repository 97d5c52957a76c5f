package guest

import (
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Main runs the guest on the process's standard input and output. It does not
// return: the process exits with one of protocol's Exit codes.
func Main() {
	g, err := start(protocol.Workspace)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start guest:", err)
		os.Exit(protocol.ExitSetup)
	}
	g.pump()
	os.Exit(protocol.ExitInput)
}

// guest is the whole process. Parts that keep state have a type of their own.
type guest struct {
	started   time.Time
	workspace string

	input     *pipeEnd
	output    *output
	server    *server
	table     *table   // running commands, and the reaper
	spawner   *spawner // starts commands
	marks     *marker  // tells a command's descendants from others
	oom       *oomMeter
	execs     slots // commands that a call waits for
	jobs      *jobs // commands in the background
	polls     slots
	patient   patient
	calls     slots // file and archive calls under way
	disk      slots // … of which so many may be inside the kernel
	leftovers leftovers
	gate      *gate      // closed while a snapshot needs the sandbox to hold still
	pausing   sync.Mutex // held by whoever has stopped processes and will start them again
	expiry    *expiry
}

// start prepares the process. The order matters: files under /proc/self are
// opened while it is still dumpable, threads are made while the process limit
// has room, and the spawner takes its thread last.
func start(workspace string) (*guest, error) {
	g := &guest{
		started:   time.Now(),
		workspace: workspace,
		table:     newTable(),
		oom:       openOOMMeter(),
		execs:     newSlots(maxExecs),
		polls:     newSlots(maxPolls),
		calls:     newSlots(maxFileCalls),
		disk:      newSlots(maxDiskCalls),
		gate:      newGate(),
	}
	unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // whatever was inherited is not for commands
	adjust := openOOMScore()
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become non-dumpable: %w", err)
	}
	boundMemory(g.oom.limit)
	ignoreSignals()
	becomeReaper(g.table, func() { g.oom.look() })
	startThreads()
	g.expiry = newExpiry(func() { os.Exit(protocol.ExitDeadline) })
	g.jobs = newJobs(g.oom.limit)
	g.marks = newMarker(g.jobs.marks)
	g.spawner = startSpawner(g.table, g.marks, adjust)
	input, err := standard(0)
	if err != nil {
		return nil, err
	}
	out, err := standard(1)
	if err != nil {
		return nil, err
	}
	out.patient = true
	g.input, g.output = input, &output{pipe: out}
	calls, err := newFileCalls(g)
	if err != nil {
		return nil, err
	}
	g.server = newServer(g.routes(calls), g.oom.limit)
	return g, nil
}

const pipeSize = 256 << 10

// standard makes a standard stream one that waits in the poller instead of
// blocking a thread. It must be a pipe or a socket.
func standard(fd int) (*pipeEnd, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("open descriptor %d: %w", fd, err)
	}
	unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeSize) // fewer hand-overs; refused by what is no pipe
	p, err := newPipeEnd(fd)
	if err == nil {
		err = p.file.SetDeadline(time.Time{}) // refused by what has no poller
	}
	if err != nil {
		return nil, fmt.Errorf("open descriptor %d: %w", fd, err)
	}
	return p, nil
}
