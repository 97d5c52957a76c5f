package manager

import (
	"unicode"
	"unicode/utf8"
)

const maxNameLength = 128

// checkName accepts labels that can be shown to people: of sandboxes and of
// snapshots. Empty means that there is none.
func checkName(name string) error {
	if !utf8.ValidString(name) {
		return invalid("name is not valid UTF-8")
	}
	if n := utf8.RuneCountInString(name); n > maxNameLength {
		return invalid("name has %d characters; allowed are at most %d", n, maxNameLength)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return invalid("name has the character %U; allowed are printable characters", r)
		}
	}
	return nil
}
