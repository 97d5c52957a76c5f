package main

import (
	"os"
	"path/filepath"
	"strings"
)

// noJournal is a caveat about a machine on which what makes many files cannot be
// compared from one minute to the next.
const noJournal = "Docker's volumes are on ext4 without a journal. There a new file costs the more, the more files were removed in the five minutes before: figures of trees are of no use. See docs/performance.md."

// caveats are what whoever reads the figures must know of the machine.
func (r *rig) caveats() []string {
	var info struct{ DockerRootDir string }
	if err := r.docker.ask(r.ctx, "GET", "/info", nil, &info); err != nil {
		return []string{"Docker does not say where its volumes are: " + err.Error()}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil // not Linux, and Docker is elsewhere
	}
	at := mountOf(info.DockerRootDir, string(mounts))
	name, err := os.Readlink("/sys/dev/block/" + at.device)
	if at.kind != "ext4" || err != nil {
		return nil
	}
	journals, err := filepath.Glob("/proc/fs/jbd2/" + filepath.Base(name) + "-*")
	if err != nil || len(journals) > 0 {
		return nil
	}
	return []string{noJournal}
}

// mount is a mounted filesystem: the numbers of its device, and its type.
type mount struct{ device, kind string }

// mountOf finds, in the text of /proc/self/mountinfo, what a path is on.
func mountOf(path, mountinfo string) (found mount) {
	longest := ""
	for line := range strings.Lines(mountinfo) {
		own, rest, _ := strings.Cut(line, " - ")
		fields, kind := strings.Fields(own), strings.Fields(rest)
		if len(fields) < 5 || len(kind) == 0 {
			continue
		}
		at := fields[4]
		inside := at == "/" || path == at || strings.HasPrefix(path, at+"/")
		if inside && len(at) >= len(longest) { // the last of those on top of each other
			longest, found = at, mount{fields[2], kind[0]}
		}
	}
	return found
}
