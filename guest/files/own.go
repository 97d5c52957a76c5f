//go:build linux

package files

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// refuseOwn is an error when fd is in the guest's own directory in /proc.
//
// The guest is not dumpable, so no command can look there; but the kernel lets
// every process look at itself, and these calls are made by the guest. /proc
// also has a directory for each thread, by a number that listing does not show.
func refuseOwn(fd int) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	if uint32(fs.Type) != unix.PROC_SUPER_MAGIC {
		return nil
	}
	where, err := readlink(unix.AT_FDCWD, ProcPath(fd))
	if err != nil {
		return err
	}
	if where == "/proc" || isOthers(where) {
		return nil
	}
	return refuse(protocol.ErrPermission, "open", where,
		"this belongs to the sandbox's own service and cannot be read through file calls; use a command instead")
}

// isOthers says whether a path in a proc file system is not about this process.
// One that is mounted elsewhere than at /proc is not taken for others'.
func isOthers(where string) bool {
	below, ok := strings.CutPrefix(where, "/proc/")
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(below, "/")
	if _, err := strconv.Atoi(first); err != nil {
		return true // /proc/cpuinfo, /proc/sys
	}
	return unix.Access("/proc/self/task/"+first, unix.F_OK) != nil
}
