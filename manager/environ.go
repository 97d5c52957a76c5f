package manager

import (
	"maps"
	"slices"
	"strings"
)

// defaultPath is for images that set none, as Docker has it.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ is the whole environment of a command: the image's, with HOME and a
// PATH, then the sandbox's, then the call's. Later ones win.
func environ(image []string, sandbox, call map[string]string) []string {
	env := map[string]string{"PATH": defaultPath}
	for _, entry := range image {
		// An image may ship anything here; what no program could be given is
		// left out rather than spoiling every command.
		name, value, ok := strings.Cut(entry, "=")
		if ok && name != "" && len(entry) < maxArg && !strings.ContainsRune(entry, 0) {
			env[name] = value
		}
	}
	env["HOME"] = Workspace
	maps.Copy(env, sandbox)
	maps.Copy(env, call)

	entries := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		entries = append(entries, name+"="+env[name])
	}
	return entries
}

// checkTotal refuses what the kernel would, with a message that says why.
func checkTotal(c Command) error {
	const pointer = 8 // the kernel counts one for each string
	total := 0
	for _, list := range [][]string{c.Argv, c.Env} {
		for _, s := range list {
			total += len(s) + 1 + pointer
		}
	}
	if total > maxArgs {
		return invalid("command and environment take %d bytes; allowed are at most %d", total, maxArgs).
			hint("Pass large data on standard input or in a file.")
	}
	return nil
}
