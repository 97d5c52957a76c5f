package manager_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func (s *server) export(id schemas.SnapshotID) ([]byte, error) {
	var b bytes.Buffer
	err := s.ExportSnapshot(s.t.Context(), owner, id, &b)
	return b.Bytes(), err
}

func (s *server) imports(image string, archive io.Reader) (schemas.Snapshot, error) {
	return s.ImportSnapshot(s.t.Context(), owner, "mine", image, archive)
}

func TestSnapshotGoesOutAndComesBack(t *testing.T) {
	s := start(t)
	b := s.create()
	s.mustSh(b.ID, "mkdir d; echo hello > d/f; ln -s f d/l; chmod 700 d/f")
	snap := s.snap(b.ID)
	out, err := s.export(snap.ID)
	if err != nil || int64(len(out)) != snap.SizeBytes {
		t.Fatalf("%d bytes of %d, %v", len(out), snap.SizeBytes, err)
	}
	in, err := s.imports("other:1", bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if in.SizeBytes != snap.SizeBytes || in.Files != snap.Files || in.Image != "other:1" || in.Name != "mine" || in.SandboxID != "" || in.ParentID != nil {
		t.Errorf("imported %+v of %+v", in, snap)
	}
	s.Close()
	s = restart(t, s)
	again, err := s.export(in.ID)
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("it changed on the way: %v", err)
	}
	s.fake.AddImage("other:1", true)
	f := s.mustFork(in.ID)
	if got := s.mustSh(f.ID, "cat d/l"); got != "hello\n" {
		t.Errorf("the fork has %q", got)
	}
}

// tarOf makes a tar of entries.
func tarOf(t *testing.T, entries ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestImportRefusesWhatCannotBeExtracted(t *testing.T) {
	s := start(t, func(c *manager.Config) { c.MaxSnapshotBytes = 64 << 10; c.AllowedImages = []string{"ok:*"} })
	good := tarOf(t, &tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, &tar.Header{Name: "f", Size: 700, Mode: 0o644})
	entry := func(h tar.Header) []byte { return tarOf(t, &h) }
	for name, c := range map[string]struct {
		archive []byte
		kind    manager.Kind
		about   string
	}{
		"nothing":         {nil, manager.KindInvalid, "end mark"},
		"no tar":          {[]byte(strings.Repeat("hello", 1000)), manager.KindInvalid, "not a tar"},
		"compressed":      {append([]byte{0x1f, 0x8b}, good...), manager.KindInvalid, "not a tar"},
		"cut in a file":   {good[:1600], manager.KindInvalid, "cut short"},
		"cut at its end":  {good[:len(good)-1024], manager.KindInvalid, "end mark"},
		"two":             {append(append([]byte{}, good...), good...), manager.KindInvalid, "follows"},
		"absolute":        {entry(tar.Header{Name: "/etc/passwd"}), manager.KindInvalid, "absolute"},
		"up":              {entry(tar.Header{Name: "a/../../b"}), manager.KindInvalid, `".."`},
		"a link up":       {entry(tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "../b"}), manager.KindInvalid, `".."`},
		"a device":        {entry(tar.Header{Name: "a", Typeflag: tar.TypeChar}), manager.KindInvalid, "device"},
		"a long name":     {entry(tar.Header{Name: strings.Repeat("n", 300)}), manager.KindInvalid, "255"},
		"too large":       {entry(tar.Header{Name: "a", Size: 64 << 10}), manager.KindTooLarge, "65536"},
		"zeros for ever":  {append(good, make([]byte, 64<<10)...), manager.KindTooLarge, "65536"},
		"a sparse bomb":   {sparse(t, 1<<40), manager.KindTooLarge, "65536"},
		"a name too long": {good, manager.KindInvalid, "name"},
		"a bad image":     {good, manager.KindForbidden, "image"},
	} {
		label, image := "x", ""
		switch name {
		case "a name too long":
			label = strings.Repeat("n", 129)
		case "a bad image":
			image = "evil:1"
		}
		_, err := s.ImportSnapshot(t.Context(), owner, label, image, bytes.NewReader(c.archive))
		if e := wantKind(t, err, c.kind); !strings.Contains(e.Message, c.about) {
			t.Errorf("%s: %q, want it to say %q", name, e.Message, c.about)
		}
	}
	broken := errors.New("broken")
	if _, err := s.imports("", io.MultiReader(bytes.NewReader(good[:900]), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a broken upload: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.ImportSnapshot(ctx, owner, "", "", bytes.NewReader(good)); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who left: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(s.cfg.DataDir, "snapshots")); len(left) > 0 || len(s.snapshots()) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := s.imports("ok:1", bytes.NewReader(good)); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// sparse is a small tar of a file that is huge when extracted, as GNU tar makes
// it.
func sparse(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	header := []byte(strconv.FormatInt(size, 10))
	records := map[string]string{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "hole", "GNU.sparse.realsize": string(header)}
	var pax bytes.Buffer
	for k, v := range records {
		line := k + "=" + v + "\n"
		n := len(line) + 3
		fmt.Fprintf(&pax, "%d %s", n, line)
	}
	if err := w.WriteHeader(&tar.Header{Name: "PaxHeaders.0/hole", Size: int64(pax.Len()), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(pax.Bytes())
	if err := w.WriteHeader(&tar.Header{Name: "GNUSparseFile.0/hole", Size: 512, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(append([]byte("0\n"), make([]byte, 510)...))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	raw := b.Bytes()
	retype(raw[:512], 'x')
	return raw
}

// retype makes a header one of another type, as archive/tar writes none.
func retype(header []byte, kind byte) {
	header[156] = kind
	copy(header[148:156], "        ")
	sum := 0
	for _, c := range header {
		sum += int(c)
	}
	copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

func TestExportOfWhatIsNotOrNoLongerThere(t *testing.T) {
	s := start(t)
	b := s.create()
	s.mustSh(b.ID, "echo hello > f")
	snap := s.snap(b.ID)
	wantKind(t, s.ExportSnapshot(t.Context(), "other", snap.ID, io.Discard), manager.KindNotFound)
	wantKind(t, s.ExportSnapshot(t.Context(), owner, "snap_0123456789abcdef", io.Discard), manager.KindNotFound)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ExportSnapshot(ctx, owner, snap.ID, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who left: %v", err)
	}
	broken := errors.New("broken")
	if err := s.ExportSnapshot(t.Context(), owner, snap.ID, brokenWriter{broken}); !errors.Is(err, broken) {
		t.Errorf("a broken download: %v", err)
	}

	path := filepath.Join(s.cfg.DataDir, "snapshots", string(snap.ID)+".tar.zst")
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stored[len(stored)/2] ^= 1
	if err := os.WriteFile(path, stored, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := s.export(snap.ID)
	if e := wantKind(t, err, manager.KindConflict); !strings.Contains(e.Message, "damaged") || len(out) > 0 {
		t.Errorf("%d bytes, then %q", len(out), e.Message)
	}
}

type brokenWriter struct{ err error }

func (b brokenWriter) Write([]byte) (int, error) { return 0, b.err }
