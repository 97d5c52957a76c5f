//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const helperNothing = "nothing"

// identity: who a command is, and whether it can become somebody else.
func identity(f findings) {
	groups, _ := os.Getgroups()
	f["user"] = fmt.Sprintf("%d:%d %v", os.Getuid(), os.Getgid(), groups)
	f["HOME"] = os.Getenv("HOME")
	f["hostname"], _ = os.Hostname()
	status := fields("/proc/self/status")
	var held []string
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if strings.Trim(status[set], "0") != "" {
			held = append(held, set+" "+status[set])
		}
	}
	f["capabilities"] = list(held)
	f["no new privileges"] = status["NoNewPrivs"]
	f["seccomp"] = map[string]string{"0": "off", "2": "filter"}[status["Seccomp"]]

	f.try("become root", unix.Setresuid(0, 0, 0))
	f.try("join the group of root", unix.Setgroups([]int{0}))
	f.try("a user name space", newUserNamespace())
	f["everything to be read"] = visible()
}

func newUserNamespace() error {
	cmd := exec.Command("/proc/self/exe", helperNothing)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return cmd.Run()
}

// visible is all text that could hold a secret of the server's.
func visible() string {
	var all strings.Builder
	for _, pattern := range []string{"/proc/[0-9]*/cmdline", "/proc/[0-9]*/environ", "/proc/mounts", "/proc/self/mountinfo", "/etc/hosts", "/etc/resolv.conf"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			text, _ := os.ReadFile(name)
			all.Write(append(text, '\n'))
		}
	}
	return strings.ToValidUTF8(strings.ReplaceAll(all.String(), "\x00", "\n"), "?")
}

// fields reads a file of lines like "Name:	value".
func fields(name string) map[string]string {
	m := map[string]string{}
	text, _ := os.ReadFile(name)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		m[key] = strings.TrimSpace(value)
	}
	return m
}

// list is names with spaces between, or "none".
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}
