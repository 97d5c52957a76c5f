package guest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// scanning lets one reader at a time into /proc, since reading it may block a
// thread for a moment and threads are few.
var scanning sync.Mutex

// processes lists all processes but the guest itself.
func processes() (pids []int) {
	scanning.Lock()
	defer scanning.Unlock()
	fd, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	buf := make([]byte, 16<<10)
	self := os.Getpid()
	for {
		n, err := unix.ReadDirent(fd, buf)
		if n <= 0 || err != nil {
			return pids
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil && pid != self {
				pids = append(pids, pid)
			}
		}
	}
}

// stat is what /proc tells of a process.
type stat struct {
	pid, parent, session int
	state                byte
	start                string // boot time ticks; with pid it names a process for good
}

// alive is false for what has ended and only waits to be reaped.
func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' && s.state != 0 }

// alive reports whether pid runs. One that cannot be read is taken to be gone.
func alive(pid int) bool { return statOf(pid).alive() }

// stats reads the stat of every process but the guest.
func stats() (all []stat) {
	for _, pid := range processes() {
		if s := statOf(pid); s.state != 0 {
			all = append(all, s)
		}
	}
	return all
}

// statOf reads /proc/pid/stat; its state is 0 if there is no such process.
func statOf(pid int) stat {
	text := readProc(pid, "stat", 1<<10)
	// The second field is the program's name, in parentheses, and may itself
	// hold parentheses and blanks.
	_, rest, ok := strings.Cut(string(text[max(bytes.LastIndexByte(text, ')'), 0):]), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return stat{}
	}
	s := stat{pid: pid, state: fields[0][0], start: fields[19]}
	s.parent, _ = strconv.Atoi(fields[1])
	s.session, _ = strconv.Atoi(fields[3])
	return s
}

func hasVariable(pid int, entry string) bool {
	for _, v := range bytes.Split(readProc(pid, "environ", 256<<10), []byte{0}) {
		if string(v) == entry {
			return true
		}
	}
	return false
}

// readProc reads at most limit bytes of a file of one process.
func readProc(pid int, name string, limit int) []byte {
	scanning.Lock()
	defer scanning.Unlock()
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	buf := make([]byte, limit)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}
