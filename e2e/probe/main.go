//go:build linux

// Probe tells what a program in a sandbox finds, and what it is let do. It is
// static and needs nothing of the image: the tests write it into the workspace
// and run it there, in every image alike.
//
// It prints a JSON object: a name for each thing looked at or tried, and what came
// of it. A try that failed is "refused", whatever the reason, for that differs
// between kernels and runtimes; one that worked is "works".
//
// "probe network ADDRESS…" only tries to reach addresses, see reach.go. Adding a
// try: a line in the list of its kind, and its place in e2e/properties_test.go.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	refused = "refused"
	works   = "works"
)

// findings are what is printed.
type findings map[string]string

// try notes whether something is refused; what was done is of no more interest.
func (f findings) try(name string, err error) {
	if err == nil {
		f[name] = works
		return
	}
	f[name] = refused
	f[name+", because"] = err.Error()
}

// deny is try for a call that has to be denied as such: an error that tells of its
// arguments shows that it got through.
func (f findings) deny(name string, err error) {
	f.try(name, err)
	if e, ok := err.(syscall.Errno); ok && e != unix.EPERM && e != unix.EACCES && e != unix.ENOSYS {
		f[name] = "gets through: " + e.Error()
	}
}

func main() {
	f := findings{}
	switch as := append(os.Args, "")[1]; as {
	case "":
		identity(f)
		filesystem(f)
		kernel(f)
		first(f)
		noNetwork(f)
		limits(f)
	case "network":
		for _, to := range os.Args[2:] {
			f[to] = look(to)
		}
	case "listen":
		listen(os.Args[2:])
	case helperEat:
		eat()
	case helperOrphan:
		orphan()
		return
	case helperNothing:
		return
	}
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		fmt.Fprintln(os.Stderr, "print what was found:", err)
		os.Exit(1)
	}
}
