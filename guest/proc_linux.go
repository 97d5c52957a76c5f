package guest

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processes lists all processes but the guest itself.
func processes() []int {
	self := os.Getpid()
	return slices.DeleteFunc(numbered("/proc"), func(pid int) bool { return pid == self })
}

// numbered lists the entries of a directory of /proc whose names are numbers.
func numbered(dir string) (numbers []int) {
	fd, errno := rawOpen(unix.AT_FDCWD, dir)
	if errno != 0 {
		return nil
	}
	defer rawClose(fd)
	buf := make([]byte, 16<<10)
	for {
		n, errno := rawReadDir(fd, buf)
		if n <= 0 || errno != 0 {
			return numbers
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if number, err := strconv.Atoi(name); err == nil {
				numbers = append(numbers, number)
			}
		}
	}
}

// stat is what /proc tells of a process.
type stat struct {
	pid, parent, group, session int
	state                       byte
	start                       string // boot time ticks
}

// identity names a process for good; its pid alone may be given to another.
type identity struct {
	pid   int
	start string
}

// alive is false for what has ended and only waits to be reaped.
func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' && s.state != 0 }

// stopped includes what a debugger has stopped.
func (s stat) stopped() bool { return s.state == 'T' || s.state == 't' }

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
	s.group, _ = strconv.Atoi(fields[2])
	s.session, _ = strconv.Atoi(fields[3])
	if s.state == 'Z' && fields[17] != "1" {
		s.state = stateOfThreads(pid)
	}
	return s
}

// stateOfThreads is the state of a process whose first thread has ended before
// the others: /proc shows it as ended, which it is not. It is stopped when all
// that is left of it is.
func stateOfThreads(pid int) byte {
	state := byte('Z')
	for _, tid := range numbered("/proc/" + strconv.Itoa(pid) + "/task") {
		text := readProc(pid, "task/"+strconv.Itoa(tid)+"/stat", 1<<10)
		_, rest, _ := strings.Cut(string(text[max(bytes.LastIndexByte(text, ')'), 0):]), ") ")
		if rest == "" || rest[0] == 'Z' || rest[0] == 'X' {
			continue
		}
		if state = rest[0]; state != 'T' && state != 't' {
			return state
		}
	}
	return state
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
	fd, errno := rawOpen(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/"+name)
	if errno != 0 {
		return nil
	}
	defer rawClose(fd)
	buf := make([]byte, limit)
	n, _ := rawRead(fd, buf)
	return buf[:n]
}
