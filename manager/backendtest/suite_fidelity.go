package backendtest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// fidelity sends a tar with everything in it through two sandboxes.
func fidelity(e *env) {
	b, c := e.box(), e.create()
	at := time.Unix(981173106, 123456789)
	entries := []entry{
		file("plain", "content"), file("empty", ""),
		{tar.Header{Name: "exec", Mode: 0o755}, "#!"}, {tar.Header{Name: "closed", Mode: 0}, "secret"},
		{tar.Header{Name: "old", ModTime: time.Unix(-86400, 5)}, ""},
		dir("d"), dir("d/empty"), {tar.Header{Name: "sticky/", Mode: 0o1777, Typeflag: tar.TypeDir}, ""},
		{tar.Header{Name: "tight/", Mode: 0o700, Typeflag: tar.TypeDir}, ""}, {tar.Header{Name: "tight/f", Mode: 0o600}, "x"},
		{tar.Header{Name: "ro/", Mode: 0o555, Typeflag: tar.TypeDir}, ""}, {tar.Header{Name: "ro/f", Mode: 0o444}, "x"},
		link("rel", "d/../plain"), link("abs", "/usr/bin/python3"), link("dangling", "no/such"), link("loop", "loop"), link("slash", "d/"), link("long", strings.Repeat("t/", 150)),
		{tar.Header{Name: "pipe", Mode: 0o640, Typeflag: tar.TypeFifo}, ""},
		{tar.Header{Name: "hard", Linkname: "plain", Typeflag: tar.TypeLink}, ""}, {tar.Header{Name: "d/hard", Linkname: "plain", Typeflag: tar.TypeLink}, ""},
		{tar.Header{Name: "attr", Mode: 0o644, PAXRecords: map[string]string{xattrPrefix + "user.k": "v\x00\xff"}}, "x"},
	}
	for _, name := range oddNames {
		entries = append(entries, file("odd/"+name, name))
	}
	for _, n := range []int{99, 100, 101, 155, 256, 300, 1000} {
		name := strings.Repeat("x/", n/2)[:n-1] + "y"
		entries = append(entries, file(name, fmt.Sprint(n)))
	}
	for i := range entries {
		if entries[i].ModTime.IsZero() {
			entries[i].ModTime = at.Add(time.Duration(i) * 1001)
		}
	}
	given := makeTar(entries...)
	if _, err := b.Unpack(e.ctx, unpackAll(true), bytes.NewReader(given)); err != nil {
		e.Fatalf("unpack: %v", err)
	}
	copyTo(e, b, c)
	data, _ := pack(e, c, packAll(false))
	want, got := readTar(e, given), readTar(e, data)
	for name := range got { // parents that the tar did not list have no set time
		if _, listed := want[name]; !listed && got[name].Type == tar.TypeDir {
			delete(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("given and packed trees differ (-given +packed):\n%s", diff)
	}
}

func hostileTars(e *env) {
	b := e.box()
	for what, entries := range map[string][]entry{
		"parent":          {file("../f", "x")},
		"deep parent":     {dir("d"), file("d/../../f", "x")},
		"absolute":        {file("/tmp/f", "x")},
		"through a link":  {link("l", "/tmp"), file("l/f", "x")},
		"link then file":  {link("f", "/tmp/f"), file("f", "x")},
		"hard link out":   {{tar.Header{Name: "h", Linkname: "../etc/passwd", Typeflag: tar.TypeLink}, ""}},
		"hard link abs":   {{tar.Header{Name: "h", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}, ""}},
		"hard to symlink": {link("l", "/tmp/f"), {tar.Header{Name: "h", Linkname: "l", Typeflag: tar.TypeLink}, ""}, file("h", "x")},
		"device":          {{tar.Header{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}, ""}},
		"setuid":          {{tar.Header{Name: "s", Mode: 0o6755}, "x"}},
	} {
		_, err := b.Unpack(e.ctx, unpackAll(true), bytes.NewReader(makeTar(entries...)))
		if err != nil {
			e.wantKind(what, err, manager.KindInvalid)
		}
		if got := e.sh(b, "ls /tmp; ls /tmp/f /f 2>/dev/null || true"); got != "" {
			e.Fatalf("%s: outside there is %q", what, got)
		}
		if info, err := b.Stat(e.ctx, "/workspace/s"); err == nil && info.Mode&0o6000 != 0 {
			e.Errorf("%s: mode %o", what, info.Mode)
		}
		if info, err := b.Stat(e.ctx, "/workspace/h"); err == nil && info.Type == "file" && e.read(b, "/workspace/h") != "x" {
			e.Errorf("%s: linked to something outside", what)
		}
	}
	e.sh(b, "true")
}
