package httpapi

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// transferring sends and takes what it is told, instead of snapshots.
type transferring struct {
	*manager.Manager
	fail error
}

func (x transferring) ExportSnapshot(_ context.Context, _ manager.Owner, _ schemas.SnapshotID, w io.Writer) error {
	if x.fail == nil {
		io.WriteString(w, "a tar")
	}
	return x.fail
}

func (x transferring) ImportSnapshot(_ context.Context, _ manager.Owner, name, image string, r io.Reader) (schemas.Snapshot, error) {
	b, err := io.ReadAll(r)
	if err == nil {
		err = x.fail
	}
	return schemas.Snapshot{Name: name, Image: image, SizeBytes: int64(len(b))}, err
}

func TestSnapshotTransfers(t *testing.T) {
	d := start(t, func(s *setup) { s.core = func(m *manager.Manager) core { return transferring{Manager: m} } })
	at := "/v1/snapshots/snap_0123456789abcdef/archive"
	if r := d.do("GET", at, nil); r.status != 200 || string(r.body) != "a tar" || r.header.Get("Content-Type") != "application/x-tar" {
		t.Errorf("%d %s %v", r.status, r.body, r.header)
	}
	if r := d.do("HEAD", at, nil); r.status != 404 {
		t.Errorf("HEAD: %d", r.status)
	}
	got := get[schemas.Snapshot](d, 201, "POST", "/v1/snapshots?name=n&image=busybox:1", onlyReader{strings.NewReader("12345")})
	if got.Name != "n" || got.Image != "busybox:1" || got.SizeBytes != 5 {
		t.Errorf("got %+v", got)
	}
	d.do("POST", "/v1/snapshots?nam=n", "x").fails(t, 400, schemas.CodeInvalidRequest, "nam")
	d.do("POST", "/v1/snapshots", strings.Repeat("x", 9<<20)).fails(t, 413, schemas.CodePayloadTooLarge)

	bad := start(t, func(s *setup) {
		s.core = func(m *manager.Manager) core { return transferring{m, errors.New("secret")} }
	})
	bad.do("GET", at, nil).fails(t, 500, schemas.CodeInternal)
	bad.do("POST", "/v1/snapshots", "x").fails(t, 500, schemas.CodeInternal)
}
