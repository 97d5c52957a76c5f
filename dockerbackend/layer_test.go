package dockerbackend

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReown(t *testing.T) {
	var in, out bytes.Buffer
	w := tar.NewWriter(&in)
	for _, h := range []*tar.Header{
		{Typeflag: tar.TypeDir, Name: "workspace/", Mode: 0o000},
		{Typeflag: tar.TypeReg, Name: "workspace/setuid", Mode: 0o6755, Size: 3, Uname: "root"},
		{Typeflag: tar.TypeBlock, Name: "workspace/disk", Mode: 0o600, Devmajor: 8},
		{Typeflag: tar.TypeSymlink, Name: "workspace/link", Linkname: "/etc/passwd", Mode: 0o777},
		{Typeflag: tar.TypeLink, Name: "workspace/hard", Linkname: "workspace/setuid", Mode: 0o755},
	} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			w.Write([]byte("abc"))
		}
	}
	w.Close()
	if err := reown(&out, &in, owner{1000, 1001}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		content, _ := io.ReadAll(r)
		got = append(got, fmt.Sprintf("%s %o %d:%d %s%q %q", h.Name, h.Mode, h.Uid, h.Gid, h.Uname, h.Linkname, content))
	}
	want := []string{
		`workspace/ 700 1000:1001 "" ""`,
		`workspace/setuid 755 1000:1001 "" "abc"`,
		`workspace/link 777 1000:1001 "/etc/passwd" ""`,
		`workspace/hard 755 1000:1001 "workspace/setuid" ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
