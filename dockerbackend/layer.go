package dockerbackend

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// What a prepared image has besides its base, as tars. They are only passed
// through: nothing of an image is ever unpacked on the server.

// putGuest copies the guest into a container, owned by root.
func (b *Backend) putGuest(ctx context.Context, name string, guest guestBinary) error {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: guestDir[1:] + "/", Mode: 0o755})
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: guestProgram[1:], Mode: 0o755, Size: int64(len(guest.content))})
	w.Write(guest.content)
	if err := w.Close(); err != nil {
		return fmt.Errorf("pack guest: %w", err)
	}
	return b.docker.copyTo(ctx, name, &layer)
}

// putWorkspace gives the sandbox user /workspace and all the image ships there.
func (b *Backend) putWorkspace(ctx context.Context, name string) error {
	stat, err := b.docker.statPath(ctx, name, protocol.Workspace)
	if err != nil && !cerrdefs.IsNotFound(err) {
		return err
	}
	if err != nil || !stat.Mode.IsDir() {
		return b.docker.copyTo(ctx, name, emptyWorkspace(b.user))
	}
	// Docker locks a container while it copies either way, so what comes out
	// has to be kept before it can go in again.
	spool, err := os.CreateTemp("", "mcp-sandbox-workspace-*")
	if err != nil {
		return fmt.Errorf("make temporary file: %w", err)
	}
	_ = os.Remove(spool.Name())   // at once, that a server that is killed leaves nothing behind;
	defer os.Remove(spool.Name()) // and again where an open file cannot be removed
	defer spool.Close()
	if err := b.docker.copyFrom(ctx, name, protocol.Workspace, func(in io.Reader) error {
		return reown(spool, in, b.user)
	}); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewind temporary file: %w", err)
	}
	return b.docker.copyTo(ctx, name, spool)
}

// checkLayer looks whether what was copied has arrived: the image will be used for
// a long time, and nothing in it can be mended.
func (b *Backend) checkLayer(ctx context.Context, name string, guest guestBinary) error {
	stat, err := b.docker.statPath(ctx, name, guestProgram)
	if err == nil && stat.Size == int64(len(guest.content)) {
		stat, err = b.docker.statPath(ctx, name, protocol.Workspace)
		if err == nil && stat.Mode.IsDir() {
			return nil
		}
	}
	if err == nil || cerrdefs.IsNotFound(err) {
		err = dockerError("prepare image", errNonsense)
	}
	return err
}

func emptyWorkspace(user owner) io.Reader {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "workspace/", Mode: 0o755, Uid: user.uid, Gid: user.gid})
	w.Close()
	return &layer
}

// reown copies a tar of /workspace with every entry made the user's. The
// directory itself is made usable for its new owner whatever it was before.
func reown(out io.Writer, in io.Reader, user owner) error {
	r, w := tar.NewReader(in), tar.NewWriter(out)
	for {
		header, err := r.Next()
		if err == io.EOF {
			return w.Close()
		}
		if err != nil {
			return fmt.Errorf("read the image's workspace: %w", err)
		}
		if !claim(header, user) {
			continue
		}
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("rewrite the image's workspace: %w", err)
		}
		if _, err := io.Copy(w, r); err != nil {
			return fmt.Errorf("rewrite the image's workspace: %w", err)
		}
	}
}

// claim changes an entry's owner; it returns false for what a sandbox's
// workspace does not hold.
func claim(h *tar.Header, user owner) bool {
	if h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock {
		return false
	}
	h.Uid, h.Gid, h.Uname, h.Gname = user.uid, user.gid, "", ""
	h.Mode &= 0o1777
	if path.Clean(h.Name) == strings.TrimPrefix(protocol.Workspace, "/") {
		h.Mode |= 0o700
	}
	h.Format = tar.FormatUnknown // the writer picks one that holds the header
	return true
}
