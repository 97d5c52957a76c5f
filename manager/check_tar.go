package manager

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// checkTar reads a tar that comes from a caller to its end, and refuses what no
// guest would extract, so that it is found out now and not at the first fork.
func checkTar(r io.Reader, maxBytes, maxFiles int64) (ArchiveStats, error) {
	in := &tarInput{r: r, max: maxBytes}
	t := tar.NewReader(in)
	var stats ArchiveStats
	content := int64(0) // which sparse files have more of than the tar
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
		made, err := checkEntry(hdr)
		if err != nil {
			return stats, err
		}
		if made {
			stats.Files++
		}
		if content += hdr.Size; stats.Files > maxFiles || hdr.Size < 0 || content > maxBytes {
			return stats, archiveTooLarge(maxBytes, maxFiles)
		}
		if _, err := io.Copy(io.Discard, t); err != nil {
			return stats, in.explain(err)
		}
	}
}

const (
	tarBlock    = 512
	maxTarDepth = 2048
)

// checkEntry tells whether an entry makes something.
func checkEntry(hdr *tar.Header) (made bool, err error) {
	if hdr.Typeflag == tar.TypeXGlobalHeader {
		return false, nil // a comment, as git puts there
	}
	depth, err := checkEntryName(hdr.Name)
	if err != nil {
		return false, err
	}
	switch hdr.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse, tar.TypeDir, tar.TypeSymlink, tar.TypeFifo:
		return depth > 0, nil
	case tar.TypeLink:
		_, err := checkEntryName(hdr.Linkname)
		return depth > 0, err
	}
	return false, badEntry(hdr.Name, "is a device or of another type that is not extracted")
}

// checkEntryName refuses what would lead elsewhere, and does not repair it.
func checkEntryName(name string) (depth int, err error) {
	switch {
	case name == "":
		return 0, badEntry(name, "has no name")
	case name[0] == '/':
		return 0, badEntry(name, "has an absolute name; make the archive with relative names")
	case strings.IndexByte(name, 0) >= 0:
		return 0, badEntry(name, "has a NUL byte in its name")
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return 0, badEntry(name, `has ".." in its name`)
		case len(part) > 255:
			return 0, badEntry(name, "has a name of more than 255 bytes")
		}
		depth++
	}
	if depth > maxTarDepth {
		return 0, badEntry(name, "nests too deep")
	}
	return depth, nil
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
