package e2e

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// snapshot saves a sandbox.
func (m *model) snapshot(b *modelSandbox) (*modelSnapshot, error) {
	m.s.t.Helper()
	b.changing.Lock()
	defer b.changing.Unlock()
	saves := m.beginSaving(b)
	answer, err := try[schemas.Snapshot](m.s, "snapshot", args{"sandbox_id": b.ID})
	v := m.judge("snapshot", err, m.mayBeGone(b))
	return m.endSaving(saves, v, func() *modelSnapshot { return &modelSnapshot{ID: answer.ID, answer: &answer} }), err
}

func (m *model) beginSaving(b *modelSandbox) *saving {
	m.mu.Lock()
	defer m.mu.Unlock()
	saves := &saving{b.ID, filesOf(b.states)}
	m.saving[saves] = true
	return saves
}

// endSaving is for when there is an answer: there is one more snapshot, or none.
func (m *model) endSaving(saves *saving, v verdict, saved func() *modelSnapshot) *modelSnapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v != open {
		delete(m.saving, saves)
	}
	if v != granted {
		return nil
	}
	snap := saved()
	snap.files, snap.number = saves.files, m.next()
	m.snapshots[snap.ID] = snap
	return snap
}

func (m *model) deleteSnapshot(snap *modelSnapshot) error {
	m.s.t.Helper()
	m.mu.Lock()
	mayGo := snap.mayGo
	snap.mayGo = true
	snap.deletes++
	m.mu.Unlock()
	err := m.s.deleteSnapshot(snap.ID)
	m.mu.Lock()
	mayGo = mayGo || snap.deletes > 1 // another client's may have come first
	m.mu.Unlock()
	if m.judge("snapshot_delete", err, mayGo) != open {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.snapshots, snap.ID)
	}
	return err
}

// upload makes a snapshot of a tar with one file.
func (m *model) upload(name, content string) error {
	m.s.t.Helper()
	var tarred bytes.Buffer
	w := tar.NewWriter(&tarred)
	check(m.s.t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}))
	_, err := w.Write([]byte(content))
	check(m.s.t, errors.Join(err, w.Close()))
	saves := &saving{files: []files{files{}.with(name, content)}}
	m.mu.Lock()
	m.saving[saves] = true
	m.mu.Unlock()
	req, err := m.s.Request(ctx(m.s.t), "POST", "/v1/snapshots", &tarred)
	check(m.s.t, err)
	resp, err := m.s.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer schemas.Snapshot
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if resp.StatusCode != 201 {
		m.s.t.Errorf("upload: %s", resp.Status)
	}
	m.endSaving(saves, granted, func() *modelSnapshot { return &modelSnapshot{ID: answer.ID, answer: &answer} })
	return nil
}

// damage changes a byte of a snapshot's file.
func (m *model) damage(snap *modelSnapshot) {
	m.s.t.Helper()
	path := filepath.Join(m.s.dir, "snapshots", string(snap.ID)+".tar.zst")
	content, err := os.ReadFile(path)
	check(m.s.t, err)
	content[len(content)/2] ^= 1
	check(m.s.t, os.WriteFile(path, content, 0o600))
	m.damaged[snap.ID] = true
}
