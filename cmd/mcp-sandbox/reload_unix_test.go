//go:build unix

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A hangup makes new keys count, and takes old ones away; a broken file changes
// nothing.
func TestHangupReadsKeysAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("alice:0123456789abcdef\n")
	c := &serveCmd{httpSettings: httpSettings{APIKeysFile: file}}
	keys, err := c.keys(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.reloadOnHangup(keys, nil, slog.New(slog.DiscardHandler))()
	hangup := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	write("bob:fedcba9876543210\n")
	hangup()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if o, ok := keys.Owner("fedcba9876543210"); ok && o == "bob" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the new key does not count")
		}
	}
	if _, ok := keys.Owner("0123456789abcdef"); ok {
		t.Error("the old key still counts")
	}
	write("bob:short\n")
	hangup()
	time.Sleep(20 * time.Millisecond)
	if _, ok := keys.Owner("fedcba9876543210"); !ok {
		t.Error("a broken file took the keys away")
	}
}
