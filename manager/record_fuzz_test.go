package manager

import (
	"encoding/json"
	"testing"
	"time"
)

// FuzzRecord: a forged record is refused, or names only what is its own.
func FuzzRecord(f *testing.F) {
	r := someRecord()
	// The same in every process that fuzzes, and in a corpus that was kept.
	r.ID, r.Made = "sb_0123456789abcdef", 0
	r.Current = r.begin()
	add := func(r record) {
		data, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	add(r)
	next := r.begin()
	r.Next, r.Stale = &next, []Ref{{Container: "agent-sandbox-spare-0123456789abcdef", Volume: "agent-sandbox-spare-0123456789abcdef", Key: r.Current.Ref.Key}}
	add(r)
	r.Current.Ref.Volume = "../../postgres"
	add(r)
	name := fileName(r.ID)
	now := Instant{Wall: r.ExpiresAt.Add(-time.Second), Up: r.End - time.Second, Boot: r.Boot}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeRecord(name, data)
		if err != nil {
			return
		}
		got = recovered(got)
		if got.ID != r.ID || got.left(now) > maxTTL {
			t.Errorf("got %+v", got)
		}
		for _, ref := range got.refs() {
			for _, name := range []string{ref.Container, ref.Volume} {
				if n, ours := got.number(name); !ours || n > got.Made && name == ref.Container {
					t.Errorf("it names %q, and has made %d", name, got.Made)
				}
			}
		}
	})
}

// FuzzSnapRecord: the same of a snapshot's record.
func FuzzSnapRecord(f *testing.F) {
	r := snapRecord{
		Version: snapVersion, ID: "snap_0123456789abcdef", Owner: "o", Sandbox: "sb_0123456789abcdef",
		Spec: someRecord().Spec, SizeBytes: 1, StoredBytes: 1, SHA256: "00",
	}
	data, err := json.Marshal(r)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	name := string(r.ID) + recordSuffix
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeSnapRecord(name, data)
		if err == nil && (got.ID != r.ID || got.StoredBytes < 0 || got.Owner == "") {
			t.Errorf("got %+v", got)
		}
	})
}
