package manager

import (
	"path"
	"strings"
)

// Workspace is where a sandbox's volume is, and what relative paths begin at.
const Workspace = "/workspace"

const (
	maxPath      = 4096
	maxComponent = 255
)

// cleanPath checks a path from a caller and makes it absolute and normal, by
// text alone. Names are bytes: dots, blanks and what is not UTF-8 are all
// allowed in them. field is what the caller knows the path by.
func cleanPath(field, p string) (string, error) {
	switch {
	case p == "":
		return "", invalid("%s is empty", field)
	case strings.ContainsRune(p, 0):
		return "", invalid("%s has a NUL byte", field)
	case len(p) > maxPath:
		return "", invalid("%s has %d bytes; allowed are at most %d", field, len(p), maxPath)
	}
	if !path.IsAbs(p) {
		p = Workspace + "/" + p
	}
	p = path.Clean(p)
	for name := range strings.SplitSeq(p, "/") {
		if len(name) > maxComponent {
			return "", invalid("%s has a name of %d bytes; allowed are at most %d", field, len(name), maxComponent)
		}
	}
	return p, nil
}

// workspacePath is cleanPath for what is written: it must be inside the
// workspace. Symbolic links are the guest's to follow safely.
func workspacePath(field, p string) (string, error) {
	clean, err := cleanPath(field, p)
	if err != nil {
		return "", err
	}
	if clean != Workspace && !strings.HasPrefix(clean, Workspace+"/") {
		return "", invalid("%s is %.256q, which is outside %s", field, p, Workspace).
			hint("Only " + Workspace + " can be written through file calls. To write elsewhere, as in /tmp, run a command.")
	}
	return clean, nil
}

// insidePath is workspacePath for what may not be the workspace itself.
func insidePath(field, p string) (string, error) {
	clean, err := workspacePath(field, p)
	if err == nil && clean == Workspace {
		return "", invalid("%s is %s itself; it must name something inside", field, Workspace)
	}
	return clean, err
}
