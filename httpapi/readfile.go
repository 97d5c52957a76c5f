package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func readFile(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	path, err := c.path("")
	if err != nil {
		return err
	}
	part, info, err := c.wantedPart(id, path)
	if err != nil {
		return err
	}
	if c.r.Method == http.MethodHead {
		return c.sendFile(info, part, nil)
	}
	info, content, err := c.ReadFile(c.ctx(), c.owner, id, path, part.from, part.length)
	if err != nil {
		return err
	}
	defer content.Close()
	return c.sendFile(info, part, content)
}

// wantedPart is what to read. Which part a range is depends on the size, so that
// is asked first, by reading nothing; for HEAD that is all there is to do.
func (c *call) wantedPart(id schemas.SandboxID, path string) (part, schemas.FileInfo, error) {
	header := c.r.Header.Get("Range")
	if header == "" && c.r.Method != http.MethodHead {
		return whole, schemas.FileInfo{}, nil
	}
	info, content, err := c.ReadFile(c.ctx(), c.owner, id, path, 0, 0)
	if err != nil {
		return part{}, info, err
	}
	content.Close()
	if !unchanged(c.r.Header.Get("If-Range"), info) {
		return whole, info, nil
	}
	p, err := parseRange(header, info.Size)
	if err != nil {
		c.w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", info.Size))
	}
	return p, info, err
}

// sendFile sends content, or only its head when there is none. The length was
// promised: a file that has shrunk meanwhile breaks the connection, so that what
// was sent is not taken for whole, nor the next answer for its rest.
func (c *call) sendFile(info schemas.FileInfo, p part, content io.Reader) error {
	h := c.w.Header()
	n, status := info.Size, http.StatusOK
	if p != whole {
		n, status = max(min(p.length, info.Size-p.from), 0), http.StatusPartialContent
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", p.from, p.from+n-1, info.Size))
	}
	h.Set("Content-Type", octets.mediaType)
	h.Set("Content-Length", strconv.FormatInt(n, 10))
	h.Set("Accept-Ranges", "bytes")
	h.Set("ETag", etag(info))
	h.Set("Last-Modified", info.ModifiedAt.UTC().Format(http.TimeFormat))
	// For who wants to keep both; Last-Modified knows whole seconds only.
	h.Set("X-File-Mode", info.Mode)
	h.Set("X-File-Modified", info.ModifiedAt.UTC().Format(time.RFC3339Nano))
	if content == nil || n == 0 && p == whole {
		c.w.WriteHeader(status)
		return nil
	}
	if n == 0 {
		return noSuchRange() // it shrank after it was asked for its size
	}
	c.w.WriteHeader(status)
	if _, err := io.CopyN(c.w, content, n); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// etag changes whenever the file's size or time do.
func etag(info schemas.FileInfo) string {
	return fmt.Sprintf(`"%x-%x"`, info.ModifiedAt.UnixNano(), info.Size)
}

// unchanged tells whether the file is still the one that If-Range means. Without
// the header it is.
func unchanged(ifRange string, info schemas.FileInfo) bool {
	if ifRange == "" || ifRange == etag(info) {
		return true
	}
	at, err := http.ParseTime(ifRange)
	return err == nil && at.Equal(info.ModifiedAt.Truncate(time.Second))
}
