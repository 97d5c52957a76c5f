package client

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Kind is what a path in a sandbox is, links followed.
type Kind int

const (
	Absent Kind = iota
	Directory
	Other // a file, or what can be neither read nor listed
)

// Kind looks what a path is.
func (c *Client) Kind(ctx context.Context, id schemas.SandboxID, path string) (Kind, error) {
	query := pathQuery(path)
	query.Set("limit", "1")
	_, err := ask[schemas.FileList](ctx, c, request{method: http.MethodGet, path: sandboxPath(id, "/files/list"), query: query})
	switch {
	case err == nil:
		return Directory, nil
	case IsCode(err, schemas.CodeInvalidRequest):
		return Other, nil
	case !IsCode(err, schemas.CodeNotFound):
		return Absent, err
	}
	if _, err := c.Get(ctx, id); err != nil { // is it the sandbox that is not found?
		return Absent, err
	}
	return Absent, nil
}

// File is one that is being read.
type File struct {
	io.ReadCloser
	Size    int64
	Mode    uint32 // permission bits
	ModTime time.Time
}

// ReadFile reads a file of whatever size.
func (c *Client) ReadFile(ctx context.Context, id schemas.SandboxID, path string) (*File, error) {
	r := request{method: http.MethodHead, path: sandboxPath(id, "/files"), query: pathQuery(path)}
	resp, err := c.send(ctx, r)
	if err != nil {
		return c.whole(ctx, r, err)
	}
	resp.Body.Close()
	r.method, r.header = http.MethodGet, http.Header{}
	// Larger files than the server reads at once are read in a range.
	if n := resp.ContentLength; n > 0 {
		r.header.Set("Range", "bytes=0-"+strconv.FormatInt(n-1, 10))
		r.header.Set("If-Range", resp.Header.Get("ETag"))
	}
	if resp, err = c.send(ctx, r); err != nil {
		return nil, err
	}
	return fileOf(resp), nil
}

// whole asks once more for what HEAD was refused: only then is there a reason.
func (c *Client) whole(ctx context.Context, r request, err error) (*File, error) {
	var e *Error
	if !errors.As(err, &e) || e.Status == 0 {
		return nil, err
	}
	r.method = http.MethodGet
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	return fileOf(resp), nil
}

// fileOf knows a server that does not tell mode and exact time.
func fileOf(resp *http.Response) *File {
	f := &File{ReadCloser: resp.Body, Size: resp.ContentLength, Mode: 0o644}
	if mode, err := strconv.ParseUint(resp.Header.Get("X-File-Mode"), 8, 12); err == nil {
		f.Mode = uint32(mode) & 0o777
	}
	var err error
	if f.ModTime, err = time.Parse(time.RFC3339Nano, resp.Header.Get("X-File-Modified")); err != nil {
		f.ModTime, _ = http.ParseTime(resp.Header.Get("Last-Modified"))
	}
	return f
}

// WriteFile replaces a file by what r gives.
func (c *Client) WriteFile(ctx context.Context, id schemas.SandboxID, path string, r io.Reader) (Answer[schemas.FileInfo], error) {
	return ask[schemas.FileInfo](ctx, c, request{
		method: http.MethodPut, path: sandboxPath(id, "/files"), query: pathQuery(path), body: r, length: -1,
	})
}

// ReadArchive is a tar of a directory.
func (c *Client) ReadArchive(ctx context.Context, id schemas.SandboxID, path string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, request{method: http.MethodGet, path: sandboxPath(id, "/archive"), query: pathQuery(path)})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// WriteArchive extracts a tar into a directory, which is made if it is missing.
func (c *Client) WriteArchive(ctx context.Context, id schemas.SandboxID, path string, r io.Reader) error {
	return c.do(ctx, request{
		method: http.MethodPut, path: sandboxPath(id, "/archive"), query: pathQuery(path), body: r, length: -1,
		header: http.Header{"Content-Type": {"application/x-tar"}},
	})
}

// pathQuery names a path, whatever bytes it has.
func pathQuery(path string) url.Values {
	if utf8.ValidString(path) {
		return url.Values{"path": {path}}
	}
	return url.Values{"path_base64": {base64.StdEncoding.EncodeToString([]byte(path))}}
}
