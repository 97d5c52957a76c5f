package client

import (
	"context"
	"io"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// Hello asks the guest who it is.
func (c *Client) Hello(ctx context.Context) (h protocol.Hello, err error) {
	err = c.call(ctx, protocol.PathHello, struct{}{}, nil, &h)
	return h, err
}

// SetDeadline tells the guest to end itself, and with it the container, unless
// a newer call comes within remaining.
func (c *Client) SetDeadline(ctx context.Context, remaining time.Duration) error {
	return c.call(ctx, protocol.PathDeadline, protocol.DeadlineParams{Remaining: remaining}, nil, &struct{}{})
}

// Read opens a file. The content's reader fails, instead of ending, when the
// file could not be read to its end; the caller closes it.
func (c *Client) Read(ctx context.Context, params protocol.ReadParams) (info protocol.FileInfo, content io.ReadCloser, err error) {
	r, err := c.start(ctx, protocol.PathRead, params, nil)
	if err != nil {
		return info, nil, err
	}
	if err := decode([]byte(r.http.Header.Get(protocol.InfoHeader)), &info); err != nil {
		r.close()
		return info, nil, err
	}
	return info, &fileContent{r}, nil
}

// fileContent is the body of a response, whose end is checked.
type fileContent struct{ *response }

func (c *fileContent) Read(p []byte) (int, error) {
	n, err := c.http.Body.Read(p)
	switch {
	case err == io.EOF:
		if cut := trailerError(c.http); cut != nil {
			err = cut
		}
	case err != nil:
		err = c.fail(err)
	}
	return n, err
}

func (c *fileContent) Close() error {
	c.close()
	return nil
}

// Write replaces a file with what content holds, all or nothing. An error of
// content leaves the old file.
func (c *Client) Write(ctx context.Context, params protocol.WriteParams, content io.Reader) (info protocol.FileInfo, err error) {
	err = c.upload(ctx, protocol.PathWrite, params, content, &info)
	return info, err
}

// Stat describes a path without following a final symlink.
func (c *Client) Stat(ctx context.Context, params protocol.StatParams) (info protocol.FileInfo, err error) {
	err = c.call(ctx, protocol.PathStat, params, nil, &info)
	return info, err
}

const defaultPage = 1000

// List returns a page of a directory, never more entries than params.Limit (0:
// 1000).
func (c *Client) List(ctx context.Context, params protocol.ListParams) (page protocol.ListResult, err error) {
	if params.Limit <= 0 {
		params.Limit = defaultPage
	}
	text, err := c.text(ctx, protocol.PathList, params, nil, maxList)
	if err != nil {
		return page, err
	}
	if err := plausibleList(text, params.Limit); err != nil {
		return page, err
	}
	if err := decode(text, &page); err != nil {
		return page, err
	}
	if len(page.Entries) > params.Limit {
		return page, malformed("%d entries where %d were asked for", len(page.Entries), params.Limit)
	}
	return page, nil
}

// Mkdir makes a directory and its parents.
func (c *Client) Mkdir(ctx context.Context, params protocol.MkdirParams) (info protocol.FileInfo, err error) {
	err = c.call(ctx, protocol.PathMkdir, params, nil, &info)
	return info, err
}

// Move renames a file or directory.
func (c *Client) Move(ctx context.Context, params protocol.MoveParams) (info protocol.FileInfo, err error) {
	err = c.call(ctx, protocol.PathMove, params, nil, &info)
	return info, err
}

// Delete removes a file or directory.
func (c *Client) Delete(ctx context.Context, params protocol.DeleteParams) error {
	return c.call(ctx, protocol.PathDelete, params, nil, &struct{}{})
}
