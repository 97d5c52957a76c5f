package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// minKey is the fewest characters of a key: one that can be guessed is none.
const minKey = 16

// Keys knows whose a key is. The zero value knows none. It holds hashes only, so
// that a key is in no dump of it, and so that all comparisons are of one length.
type Keys struct {
	list, file string
	known      atomic.Pointer[[]knownKey]
}

type knownKey struct {
	sum   [sha256.Size]byte
	owner manager.Owner
}

// NewKeys reads keys from a comma-separated list and from a file with one a
// line; either may be empty. Each is key or name:key.
func NewKeys(list, file string) (*Keys, error) {
	k := &Keys{list: list, file: file}
	return k, k.Reload()
}

// Reload reads the file again. After an error the keys are what they were.
func (k *Keys) Reload() error {
	known, err := parseKeys(nil, strings.Split(k.list, ","), "key %d of the list")
	if err != nil {
		return err
	}
	if k.file != "" {
		text, err := os.ReadFile(k.file)
		if err != nil {
			return fmt.Errorf("read keys: %w", err)
		}
		if known, err = parseKeys(known, lines(string(text)), "line %d of the key file"); err != nil {
			return err
		}
	}
	k.known.Store(&known)
	return nil
}

// Len is the number of keys.
func (k *Keys) Len() int { return len(k.all()) }

func (k *Keys) all() []knownKey {
	if k == nil {
		return nil
	}
	if known := k.known.Load(); known != nil {
		return *known
	}
	return nil
}

// Owner tells whose a key is. It takes as long for a wrong key as for any right
// one: all are looked at, and all of each.
func (k *Keys) Owner(key string) (owner manager.Owner, ok bool) {
	sum := sha256.Sum256([]byte(key))
	for _, known := range k.all() {
		if subtle.ConstantTimeCompare(sum[:], known.sum[:]) == 1 {
			owner, ok = known.owner, true
		}
	}
	return owner, ok
}

// lines drops what # begins, so that comments keep their place in the count.
func lines(text string) []string {
	all := strings.Split(text, "\n")
	for i, line := range all {
		all[i], _, _ = strings.Cut(line, "#")
	}
	return all
}

// parseKeys adds keys to those known. place says where the n-th one is: an error
// must not show the key itself.
func parseKeys(known []knownKey, texts []string, place string) ([]knownKey, error) {
	for i, text := range texts {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		key, err := parseKey(text)
		if err != nil {
			return nil, fmt.Errorf(place+": %w", i+1, err)
		}
		for _, k := range known {
			if k.sum == key.sum {
				return nil, fmt.Errorf(place+": the same key is there already", i+1)
			}
		}
		known = append(known, key)
	}
	return known, nil
}

var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func parseKey(text string) (knownKey, error) {
	owner := string(manager.DefaultOwner)
	key := text
	if name, rest, named := strings.Cut(text, ":"); named {
		owner, key = name, rest
	}
	switch {
	case !ownerName.MatchString(owner):
		return knownKey{}, errors.New("the name before the colon must be 1 to 64 letters, digits, dots, dashes or underscores, the first a letter or digit")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return knownKey{}, errors.New("a key must be of visible ASCII characters, without blanks")
	case len(key) < minKey:
		return knownKey{}, fmt.Errorf("a key must have at least %d characters", minKey)
	}
	return knownKey{sha256.Sum256([]byte(key)), manager.Owner(owner)}, nil
}
