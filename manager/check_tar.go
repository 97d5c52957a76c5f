package manager

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// checkTar reads a tar that comes from a caller to its end, and refuses what no
// guest would extract into an empty workspace, so that it is found out now and
// not at the first fork.
func checkTar(r io.Reader, maxBytes, maxFiles int64) (ArchiveStats, error) {
	in := &tarInput{r: r, max: maxBytes}
	t := tar.NewReader(in)
	var stats ArchiveStats
	content := int64(0) // which sparse files have more of than the tar
	tree := newTarTree()
	for {
		start := (in.read + tarBlock - 1) / tarBlock * tarBlock
		hdr, err := t.Next()
		if err == io.EOF {
			err = in.end(start)
			stats.Bytes = in.read
			return stats, err
		}
		if err != nil {
			return stats, in.explain(err)
		}
		made, err := checkEntry(hdr, tree)
		if err != nil {
			return stats, err
		}
		if made {
			stats.Files++
		}
		content += hdr.Size
		if max(stats.Files, tree.made()) > maxFiles || hdr.Size < 0 || content > maxBytes {
			return stats, archiveTooLarge(maxBytes, maxFiles)
		}
		if _, err := io.Copy(io.Discard, t); err != nil {
			return stats, in.explain(err)
		}
	}
}

const (
	tarBlock     = 512
	maxTarDepth  = 2048
	maxLinkBytes = 4095
)

// checkEntry tells whether an entry makes something, after those before it.
func checkEntry(hdr *tar.Header, tree *tarTree) (made bool, err error) {
	if hdr.Typeflag == tar.TypeXGlobalHeader {
		return false, nil // a comment, as git puts there
	}
	parts, err := entryParts(hdr.Name)
	if err != nil {
		return false, err
	}
	what := tarFile
	switch hdr.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse, tar.TypeFifo, tar.TypeLink:
	case tar.TypeDir:
		what = tarEmptyDir
	case tar.TypeSymlink:
		if hdr.Linkname == "" || len(hdr.Linkname) > maxLinkBytes || strings.IndexByte(hdr.Linkname, 0) >= 0 {
			return false, badEntry(hdr.Name, "is a symbolic link with a text that is empty, too long or has a NUL byte")
		}
	default:
		return false, badEntry(hdr.Name, "is a device or of another type that is not extracted")
	}
	if len(parts) == 0 {
		if what == tarFile {
			return false, badEntry(hdr.Name, "names the directory itself but is none")
		}
		return false, nil
	}
	if n := tree.parents(parts); n > 0 {
		return false, badEntry(upTo(parts, n), "has entries below it but is no directory there (links are not followed)")
	}
	if hdr.Typeflag == tar.TypeLink {
		if err := checkHardLink(hdr, parts, tree); err != nil {
			return false, err
		}
	}
	if !tree.put(parts, what) {
		return false, badEntry(hdr.Name, "is no directory, but one with something in it is there already")
	}
	return true, nil
}

func checkHardLink(hdr *tar.Header, parts []string, tree *tarTree) error {
	old, err := entryParts(hdr.Linkname)
	switch {
	case err != nil:
		return err
	case len(old) == 0 || slices.Equal(old, parts):
		return badEntry(hdr.Name, "is a hard link to itself or to no file")
	case tree.at(old) != tarFile:
		return badEntry(hdr.Name, "is a hard link to a name that is no file before it in the archive")
	}
	return nil
}

// entryParts takes a name apart, and refuses what would lead elsewhere instead of
// repairing it. "." and empty parts say nothing.
func entryParts(name string) ([]string, error) {
	switch {
	case name == "":
		return nil, badEntry(name, "has no name")
	case name[0] == '/':
		return nil, badEntry(name, "has an absolute name; make the archive with relative names")
	case strings.IndexByte(name, 0) >= 0:
		return nil, badEntry(name, "has a NUL byte in its name")
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return nil, badEntry(name, `has ".." in its name`)
		case len(part) > maxComponent:
			return nil, badEntry(name, "has a name of more than 255 bytes")
		}
		parts = append(parts, part)
	}
	if len(parts) > maxTarDepth {
		return nil, badEntry(name, "nests too deep")
	}
	return parts, nil
}

func badEntry(name, why string) *Error { return invalid("the archive's entry %.200q %s", name, why) }

func archiveTooLarge(maxBytes, maxFiles int64) *Error {
	return &Error{
		Kind:    KindTooLarge,
		Message: fmt.Sprintf("the archive is more than a snapshot may hold: %d bytes as a tar, and %d files", maxBytes, maxFiles),
		Hint:    "Leave out what is not needed, caches and downloads first.",
	}
}

// tarInput counts what is read, and the zeros at its end.
type tarInput struct {
	r     io.Reader
	max   int64
	read  int64
	zeros int64
	err   error // of r, but for its end
}

func (t *tarInput) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && err != io.EOF {
		t.err = err
	}
	if t.read += int64(n); t.read > t.max {
		return 0, errTarTooLarge
	}
	if z := n - len(bytes.TrimRight(p[:n], "\x00")); z == n {
		t.zeros += int64(z)
	} else {
		t.zeros = int64(z)
	}
	return n, err
}

// end checks that the tar was complete. start is where its last entry ended:
// there must be a block of zeros, which no cut leaves, and only zeros after it.
func (t *tarInput) end(start int64) error {
	if t.read-start < tarBlock || t.zeros < tarBlock {
		return invalid("the archive ends early: its end mark is missing")
	}
	before := t.read - t.zeros
	_, err := io.Copy(io.Discard, t)
	switch {
	case err != nil:
		return t.explain(err)
	case t.read-t.zeros != before:
		return invalid("something follows the archive's end mark")
	}
	return nil
}

// explain says what an error of the stream means.
func (t *tarInput) explain(err error) error {
	switch {
	case t.read > t.max:
		return archiveTooLarge(t.max, maxArchiveFiles)
	case t.err != nil:
		return fmt.Errorf("read archive: %w", t.err)
	}
	return invalid("the archive is damaged, cut short or not a tar (%v)", err).hint("Send a plain tar, not a compressed one.")
}
