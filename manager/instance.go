package manager

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// A server's instance ID is the label by which it knows its things in the
// backend, and removes those that no record knows. So it must be of this data
// directory alone, and not of one that was here before, nor of a copy. It is
// random and kept in the mark, a file in the directory, and it is good only for
// one home: the host and the path that it was made for, whose hash is its second
// half. In another home the directory gets another ID; the mark keeps both, so
// that moving it back brings its sandboxes back.
//
// Why so: docs/adr/0010-instance-id.md.

// InstanceID is the label value that tells this server's things from another's.
// The data directory is made, and marked, when it is new. Where another server
// has it and has not marked it yet, the error's cause is [ErrDataDirHeld].
func InstanceID(dataDir string, log *slog.Logger) (string, error) {
	d, err := openDataDir(dataDir, log)
	if err != nil {
		return "", err
	}
	home, err := homeOf(dataDir)
	if err != nil {
		return "", err
	}
	if ids, err := d.instances(); err == nil {
		if id := pick(ids, home); id != "" {
			return id, nil
		}
	}
	lock, err := d.hold()
	if err != nil {
		return "", err
	}
	defer lock.Close()
	return d.settle(home)
}

// pick is the latest ID that is good for a home.
func pick(ids []string, home string) string {
	for _, id := range slices.Backward(ids) {
		if belongs(id, home) {
			return id
		}
	}
	return ""
}

func belongs(id, home string) bool {
	if len(id) == 16 {
		return id == derived(home)
	}
	return isInstance(id) && id[16:] == seal(id[:16], home)
}

// An ID is 16 random digits and 16 that bind them to a home; before there was a
// mark it was 16 derived from the home alone.
var isInstance = regexp.MustCompile(`^[0-9a-f]{16}([0-9a-f]{16})?$`).MatchString

func newInstance(home string) string {
	b := make([]byte, 8)
	rand.Read(b) // never fails: crypto/rand
	random := hex.EncodeToString(b)
	return random + seal(random, home)
}

func seal(random, home string) string { return derived(random + "\x00" + home) }

func derived(home string) string {
	sum := sha256.Sum256([]byte(home))
	return hex.EncodeToString(sum[:8])
}

// homeOf names host and true path of a directory.
func homeOf(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find data directory: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("find data directory: %w", err)
	}
	host, err := hostID()
	return host + "\x00" + path, err
}

// hostID prefers what survives a change of the host's name.
func hostID() (string, error) {
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && len(bytes.TrimSpace(id)) > 0 {
		return string(bytes.TrimSpace(id)), nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find host name: %w", err)
	}
	return name, nil
}
