package manager

import (
	"regexp"
	"strconv"
)

// octalMode is also the pattern of write_file's mode.
var octalMode = regexp.MustCompile(`^0?[0-7]{1,3}$`)

// parseMode reads permission bits as octal text, as chmod takes them; empty
// means that none are given.
func parseMode(text string) (*uint32, error) {
	if text == "" {
		return nil, nil
	}
	bits, err := strconv.ParseUint(text, 8, 32)
	if err != nil || !octalMode.MatchString(text) {
		return nil, invalid("mode is %.32q; allowed is octal text from 0 to 777, as 644 or 0755", text)
	}
	mode := uint32(bits)
	return &mode, nil
}

func formatMode(mode uint32) string { return strconv.FormatUint(uint64(mode&0o7777), 8) }
