package manager

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

const (
	maxEnvNames = 512
	// maxArg is what the kernel takes as one string of arguments or
	// environment (MAX_ARG_STRLEN), its final NUL included.
	maxArg = 128 << 10
	// maxArgs is for all of them together. The kernel takes a quarter of the
	// stack limit, which is 2 MiB by default, and counts pointers too.
	maxArgs = 3 << 19
)

// checkEnv refuses names that no shell could set and values that no program
// could get. Values are never repeated in the message: they may be secrets.
func checkEnv(env map[string]string) error {
	if len(env) > maxEnvNames {
		return invalid("env has %d names; allowed are at most %d", len(env), maxEnvNames)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !envName.MatchString(name) {
			return invalid("env has the name %.64q; a name is letters, digits and _, and does not begin with a digit", name)
		}
		if strings.ContainsRune(env[name], 0) {
			return invalid("env %.64s has a NUL byte in its value", name)
		}
		size := len(name) + len(env[name]) + len("=\x00")
		if size > maxArg {
			return invalid("env %.64s takes %d bytes; allowed are at most %d, name included", name, size, maxArg)
		}
		total += size
	}
	if total > maxArgs {
		return invalid("env takes %d bytes; allowed are at most %d", total, maxArgs)
	}
	return nil
}
