package manager

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// InstanceID derives the label value that tells this server's things from
// another's, from host and data directory. The directory is made when it is
// missing, so that its true path is the same at every start.
func InstanceID(dataDir string) (string, error) {
	if err := makeDataDir(dataDir); err != nil {
		return "", err
	}
	path, err := filepath.Abs(dataDir)
	if err != nil {
		return "", fmt.Errorf("find data directory: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("find data directory: %w", err)
	}
	host, err := hostID()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(host + "\x00" + path))
	return hex.EncodeToString(sum[:8]), nil
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
