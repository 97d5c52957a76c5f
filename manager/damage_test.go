package manager

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// A record that was cut anywhere, or in which any bit turned, is refused, or it
// is a record that can do no harm.
func TestEveryCutAndEveryBitOfARecord(t *testing.T) {
	r := someRecord()
	next := r.begin()
	r.Next, r.Stale = &next, []Ref{{Container: "agent-sandbox-spare-0123456789abcdef", Volume: "agent-sandbox-spare-0123456789abcdef", Key: r.Current.Ref.Key}}
	now := Instant{Wall: r.ExpiresAt.Add(-time.Second), Up: r.End - time.Second, Boot: r.Boot}
	eachHarm(t, r, func(what string, data []byte) {
		got, err := decodeRecord(fileName(r.ID), data)
		if err != nil {
			return
		}
		got = recovered(got)
		if got.ID != r.ID || got.left(now) > maxTTL {
			t.Errorf("%s: got %+v", what, got)
		}
		for _, ref := range got.refs() {
			for _, name := range []string{ref.Container, ref.Volume} {
				if n, ours := got.number(name); !ours || n > got.Made && name == ref.Container {
					t.Errorf("%s: it names %q, and has made %d", what, name, got.Made)
				}
			}
		}
	})
}

// The same of a snapshot's record.
func TestEveryCutAndEveryBitOfASnapshotRecord(t *testing.T) {
	r := snapRecord{
		Version: snapVersion, ID: schemas.NewSnapshotID(), Owner: "o", Sandbox: schemas.NewSandboxID(),
		Spec: someRecord().Spec, SizeBytes: 1, StoredBytes: 1, SHA256: strings.Repeat("0a", 32),
	}
	eachHarm(t, r, func(what string, data []byte) {
		got, err := decodeSnapRecord(string(r.ID)+recordSuffix, data)
		if err == nil && (got.ID != r.ID || got.StoredBytes < 0 || got.Owner == "") {
			t.Errorf("%s: got %+v", what, got)
		}
	})
}

// eachHarm gives a record cut to every length, and with every bit turned.
func eachHarm(t *testing.T, r any, look func(what string, data []byte)) {
	t.Helper()
	whole, err := json.MarshalIndent(r, "", "  ")
	must(t, err)
	for n := range whole {
		look(fmt.Sprint("cut to ", n), whole[:n])
		look(fmt.Sprint("NULs from ", n), append(whole[:n:n], make([]byte, len(whole)-n)...))
	}
	for i := range 8 * len(whole) {
		flipped := append([]byte(nil), whole...)
		flipped[i/8] ^= 1 << (i % 8)
		look(fmt.Sprint("bit ", i), flipped)
	}
}

// Whatever names a record has, they are its own: none leads anywhere else, in
// the backend or on the disk.
func TestRecordsNameOnlyWhatIsTheirs(t *testing.T) {
	for _, name := range []string{
		"", "..", "../../containers/x", "agent-sandbox-sb_0123456789abcdef-1", "agent-sandbox-foreign", "postgres",
		"agent-sandbox-spare-../../x", "agent-sandbox-spare-0123456789ABCDEF", "%2e%2e", "a/json?force=1", "\x00",
	} {
		for what, edit := range map[string]func(*record){
			"container": func(r *record) { r.Current.Ref.Container = name },
			"volume":    func(r *record) { r.Current.Ref.Volume = name },
			"stale": func(r *record) {
				r.Stale = []Ref{{Container: name, Volume: r.Current.Ref.Volume, Key: r.Current.Ref.Key}}
			},
			"next": func(r *record) {
				r.Next = &incarnation{Ref: Ref{Container: r.Current.Ref.Container, Volume: name, Key: r.Current.Ref.Key}}
			},
			"id": func(r *record) { r.ID = schemas.SandboxID(name) },
		} {
			r := someRecord()
			edit(&r)
			if r.check() == nil {
				t.Errorf("%s %q is taken", what, name)
			}
		}
	}
	r := someRecord()
	r.Current.Ref.Volume = "agent-sandbox-spare-0123456789abcdef" // as the pool names it
	must(t, r.check())
}

// What was set aside before is not replaced.
func TestSetAsideReplacesNothing(t *testing.T) {
	f, _, err := openFolder(t.TempDir(), "x", quiet)
	must(t, err)
	for _, text := range []string{"first", "second", "third"} {
		must(t, os.WriteFile(filepath.Join(f.dir, "a.json"), []byte(text), 0o600))
		f.setAside("a.json", errNotRegular)
	}
	for name, want := range map[string]string{"a.json.corrupt": "first", "a.json.1.corrupt": "second", "a.json.2.corrupt": "third"} {
		if got := read(t, filepath.Join(f.dir, name)); got != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
}
