//go:build unix

package local

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Whatever is in the place of the directory or the note, the server listens in
// the end, and touches nothing that is not its own.
func TestDamage(t *testing.T) {
	for name, harm := range map[string]func(run, outside string) error{
		"a note of a private file": func(run, outside string) error {
			return os.WriteFile(filepath.Join(run, noteName), []byte(filepath.Join(outside, socketName)), 0o600)
		},
		"a note that climbs": func(run, outside string) error {
			path := filepath.Dir(outside) + "/" + strayPrefix + "x/../" + filepath.Base(outside) + "/" + socketName
			return os.WriteFile(filepath.Join(run, noteName), []byte(path), 0o600)
		},
		"an empty note": func(run, _ string) error { return os.WriteFile(filepath.Join(run, noteName), nil, 0o600) },
		"a huge note": func(run, _ string) error {
			note := filepath.Join(run, noteName)
			return joinErrors(os.WriteFile(note, nil, 0o600), os.Truncate(note, 1<<30))
		},
		"a FIFO for a note": func(run, _ string) error { return syscall.Mkfifo(filepath.Join(run, noteName), 0o600) },
		"a link for a note": func(run, outside string) error {
			return os.Symlink(filepath.Join(outside, socketName), filepath.Join(run, noteName))
		},
		"a link for a new note": func(run, outside string) error {
			return os.Symlink(filepath.Join(outside, socketName), filepath.Join(run, noteName+".new"))
		},
		"a file for a socket": func(run, _ string) error { return os.WriteFile(filepath.Join(run, socketName), nil, 0o600) },
		"a link for the directory": func(run, outside string) error {
			return joinErrors(os.Remove(run), os.Symlink(outside, run))
		},
		"a FIFO for the directory": func(run, _ string) error { return joinErrors(os.Remove(run), syscall.Mkfifo(run, 0o600)) },
		"an open directory":        func(run, _ string) error { return os.Chmod(run, 0o777) },
	} {
		for where, dir := range map[string]string{"in the data directory": t.TempDir(), "elsewhere": longDir(t)} {
			t.Run(name+", "+where, func(t *testing.T) {
				outside := t.TempDir()
				theirs := filepath.Join(outside, socketName)
				if err := joinErrors(os.Chmod(outside, 0o700), os.WriteFile(theirs, []byte("theirs"), 0o640), makeHome(dir)); err != nil {
					t.Fatal(err)
				}
				os.Remove(filepath.Join(dir, "run.corrupt"))
				if err := harm(home(dir), outside); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() {
					l, err := Listen(dir)
					if err == nil {
						err = l.Close()
					}
					done <- err
				}()
				select {
				case err := <-done:
					if err != nil {
						t.Fatal(err)
					}
				case <-time.After(soon):
					t.Fatal("it hangs")
				}
				s := start(t, dir)
				if text, _ := get(t, dir, "/x"); text != "/x" {
					t.Errorf("it answers %q", text)
				}
				s.Close()
				if text, err := os.ReadFile(theirs); err != nil || string(text) != "theirs" {
					t.Errorf("a file outside holds %q, %v", text, err)
				}
				if info, err := os.Stat(theirs); err != nil || info.Mode().Perm() != 0o640 {
					t.Errorf("a file outside is %v, %v", info.Mode(), err)
				}
			})
		}
	}
}

func joinErrors(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
