package schemas

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
)

// SandboxID names a sandbox: "sb_" and 16 lower-case hex digits.
type SandboxID string

// SnapshotID names a snapshot: "snap_" and 16 lower-case hex digits.
type SnapshotID string

// ExecID names a background exec of one sandbox: "ex_" and 16 lower-case hex
// digits.
type ExecID string

const (
	sandboxPrefix  = "sb_"
	snapshotPrefix = "snap_"
	execPrefix     = "ex_"
	idDigits       = 16
)

// NewSandboxID returns an unguessable new ID.
func NewSandboxID() SandboxID { return SandboxID(sandboxPrefix + randomHex()) }

// NewSnapshotID returns an unguessable new ID.
func NewSnapshotID() SnapshotID { return SnapshotID(snapshotPrefix + randomHex()) }

// NewExecID returns an unguessable new ID.
func NewExecID() ExecID { return ExecID(execPrefix + randomHex()) }

// ParseSandboxID accepts exactly the shape of a sandbox ID, so that an ID can
// never be taken for a path or a container name.
func ParseSandboxID(s string) (SandboxID, error) {
	if !hasIDShape(s, sandboxPrefix) {
		return "", badID("a sandbox ID", sandboxPrefix, s)
	}
	return SandboxID(s), nil
}

// ParseSnapshotID accepts exactly the shape of a snapshot ID.
func ParseSnapshotID(s string) (SnapshotID, error) {
	if !hasIDShape(s, snapshotPrefix) {
		return "", badID("a snapshot ID", snapshotPrefix, s)
	}
	return SnapshotID(s), nil
}

// ParseExecID accepts exactly the shape of the ID of a background exec.
func ParseExecID(s string) (ExecID, error) {
	if !hasIDShape(s, execPrefix) {
		return "", badID("an exec ID", execPrefix, s)
	}
	return ExecID(s), nil
}

// Validate tells whether the ID has its shape; [Decode] asks.
func (id ExecID) Validate() error {
	_, err := ParseExecID(string(id))
	return err
}

// Validate tells whether the ID has its shape; [Decode] asks.
func (id SandboxID) Validate() error {
	_, err := ParseSandboxID(string(id))
	return err
}

// Validate tells whether the ID has its shape; [Decode] asks.
func (id SnapshotID) Validate() error {
	_, err := ParseSnapshotID(string(id))
	return err
}

// badID also tells what kind of ID it is, which models mix up.
func badID(kind, prefix, s string) error {
	err := fmt.Errorf("must be %s: %q and %d lower-case hex digits", kind, prefix, idDigits)
	for other, what := range map[string]string{
		sandboxPrefix: "a sandbox", snapshotPrefix: "a snapshot", execPrefix: "a background command",
	} {
		if other != prefix && hasIDShape(s, other) {
			return fmt.Errorf("%w; %s is the ID of %s", err, s, what)
		}
	}
	return err
}

func hasIDShape(s, prefix string) bool {
	digits, ok := strings.CutPrefix(s, prefix)
	return ok && len(digits) == idDigits && strings.Trim(digits, "0123456789abcdef") == ""
}

func randomHex() string {
	b := make([]byte, idDigits/2)
	rand.Read(b) // never fails: crypto/rand
	return hex.EncodeToString(b)
}
