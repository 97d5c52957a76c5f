package manager

import "syscall"

// FullDisk makes the snapshot directory refuse bytes after the first so many,
// as a full disk does. It returns what ends that.
func (m *Manager) FullDisk(after int64) (mend func()) {
	m.snaps.openDraft = func(path string) (draftFile, error) {
		f, err := createDraft(path)
		return &fullFile{f, after}, err
	}
	return func() { m.snaps.openDraft = createDraft }
}

type fullFile struct {
	draftFile
	left int64
}

func (f *fullFile) Write(p []byte) (int, error) {
	if f.left -= int64(len(p)); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return f.draftFile.Write(p)
}

func (f *fullFile) Sync() error {
	if f.left < 0 {
		return syscall.ENOSPC
	}
	return f.draftFile.Sync()
}

// FailSnapshotRecords makes the write of a snapshot's record fail, or with nil
// succeed again. late: it fails when the file is there already.
func (m *Manager) FailSnapshotRecords(err error, late bool) {
	m.snaps.writeRecord = func(path string, data []byte) error {
		if err != nil && !late {
			return err
		}
		if e := writeDurably(path, data); e != nil {
			return e
		}
		return err
	}
}

// Tend does once for each sandbox what a sweep does, one after the other.
func (m *Manager) Tend() {
	for _, s := range m.all() {
		m.tend(s)
	}
}
