package backendtest

import (
	"archive/tar"
	"bytes"
	"io"
	"path"
	"strings"
	"time"
)

// entry is one member of a tar that a check makes.
type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{tar.Header{Name: name, Mode: 0o644}, content}
}

func dir(name string) entry {
	return entry{tar.Header{Name: name + "/", Mode: 0o755, Typeflag: tar.TypeDir}, ""}
}

func link(name, target string) entry {
	return entry{tar.Header{Name: name, Linkname: target, Mode: 0o777, Typeflag: tar.TypeSymlink}, ""}
}

// makeTar writes what it is told, sane or not.
func makeTar(entries ...entry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := e.Header
		h.Size, h.Format = int64(len(e.content)), tar.FormatPAX
		if h.ModTime.IsZero() {
			h.ModTime = time.Unix(981173106, 0)
		}
		if err := w.WriteHeader(&h); err != nil {
			panic(err)
		}
		io.WriteString(w, e.content)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func emptyTar() []byte { return makeTar() }

// member is what must survive of a tar's entry. Which of several hard links
// comes first is of no matter, so each has the content, and the first of all
// their names in order.
type member struct {
	Type    byte
	Mode    int64
	ModTime time.Time
	Target  string
	Content string
	Linked  string
	Attrs   map[string]string
}

// readTar returns a tar's members by clean name, without the root.
func readTar(e *env, data []byte) map[string]member {
	e.Helper()
	tree, groups := map[string]member{}, map[string][]string{}
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			e.Fatalf("read tar: %v", err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			e.Fatalf("read %q of tar: %v", h.Name, err)
		}
		name := path.Clean(h.Name)
		if name == "." {
			continue
		}
		if h.Typeflag == tar.TypeLink {
			first := path.Clean(h.Linkname)
			groups[first] = append(groups[first], name)
			continue
		}
		tree[name] = newMember(h, string(content))
	}
	for first, others := range groups {
		linkUp(tree, first, others)
	}
	return tree
}

func newMember(h *tar.Header, content string) member {
	m := member{Type: h.Typeflag, Mode: h.Mode, ModTime: h.ModTime.UTC(), Content: content}
	if h.Typeflag == tar.TypeSymlink {
		m.Target, m.Mode = h.Linkname, 0o777 // of no meaning
	}
	for k, v := range h.PAXRecords {
		if name, ok := strings.CutPrefix(k, xattrPrefix); ok {
			if m.Attrs == nil {
				m.Attrs = map[string]string{}
			}
			m.Attrs[name] = v
		}
	}
	return m
}

func linkUp(tree map[string]member, first string, others []string) {
	m := tree[first]
	m.Linked = first
	for _, name := range others {
		m.Linked = min(m.Linked, name)
	}
	for _, name := range append(others, first) {
		tree[name] = m
	}
}
