package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// A snapshot that went out and came in again is another one with the same files.
func TestSnapshotTransfers(t *testing.T) {
	d := start(t)
	at := d.create()
	d.sh(at, "mkdir sub; echo one > sub/f")
	snap := get[schemas.Snapshot](d, 201, "POST", at+"/snapshots", nil)
	tarball := d.do("GET", "/v1/snapshots/"+string(snap.ID)+"/archive", nil)
	if tarball.status != 200 || tarball.err != nil || tarball.header.Get("Content-Type") != "application/x-tar" {
		t.Fatalf("%d %v %v", tarball.status, tarball.err, tarball.header)
	}
	for _, body := range []any{tarball.body, onlyReader{bytes.NewReader(tarball.body)}} {
		made := get[schemas.Snapshot](d, 201, "POST", "/v1/snapshots?name=n", body)
		if made.ID == snap.ID || made.Name != "n" || made.SizeBytes != int64(len(tarball.body)) {
			t.Errorf("made %+v", made)
		}
		fork := get[schemas.Sandbox](d, 201, "POST", "/v1/snapshots/"+string(made.ID)+"/fork", nil)
		if got := d.sh("/v1/sandboxes/"+string(fork.ID), "cat sub/f").Stdout; got != "one\n" {
			t.Errorf("f is %q", got)
		}
	}
}

func TestSnapshotTransfersRefused(t *testing.T) {
	d := start(t)
	d.do("GET", "/v1/snapshots/snap_0123456789abcdef/archive", nil).fails(t, 404, schemas.CodeNotFound)
	if r := d.do("HEAD", "/v1/snapshots/snap_0123456789abcdef/archive", nil); r.status != 404 {
		t.Errorf("HEAD: %d", r.status)
	}
	d.do("POST", "/v1/snapshots", strings.Repeat("no tar ", 1000)).fails(t, 400, schemas.CodeInvalidRequest)
	d.do("POST", "/v1/snapshots?nam=n", "x").fails(t, 400, schemas.CodeInvalidRequest, "nam")
	d.do("POST", "/v1/snapshots?name="+strings.Repeat("n", 200), "x").fails(t, 400, schemas.CodeInvalidRequest, "name")
	d.do("POST", "/v1/snapshots", strings.Repeat("x", 9<<20)).fails(t, 413, schemas.CodePayloadTooLarge)
	if list := get[schemas.SnapshotList](d, 200, "GET", "/v1/snapshots", nil); len(list.Snapshots) != 0 {
		t.Errorf("kept %+v", list)
	}
}

// breaking fails an export half-way.
type breaking struct{ *manager.Manager }

func (breaking) ExportSnapshot(_ context.Context, _ manager.Owner, _ schemas.SnapshotID, w io.Writer) error {
	io.WriteString(w, strings.Repeat("part of a tar", 1000))
	return errors.New("disk on fire")
}

func TestSnapshotExportBreaks(t *testing.T) {
	d := start(t, func(s *setup) { s.core = func(m *manager.Manager) core { return breaking{m} } })
	if r := d.do("GET", "/v1/snapshots/snap_0123456789abcdef/archive", nil); r.err == nil {
		t.Errorf("%d bytes pass for a whole archive", len(r.body))
	}
}
