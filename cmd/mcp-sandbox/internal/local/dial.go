package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
)

// Dial connects to the server that holds a data directory. Where there is none,
// the error is [ErrNone].
func Dial(ctx context.Context, dataDir string) (*net.UnixConn, error) {
	path, err := find(dataDir)
	if err != nil {
		return nil, err
	}
	if len(path) > maxPath { // there never was a socket
		return nil, ErrNone
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errRefused) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("connect to local socket: %w", err)
	}
	return c.(*net.UnixConn), nil
}

// Client is a client of the /v1 API of the server that holds a data directory;
// URLs begin with [BaseURL]. It may be used before there is a server, and goes on
// with the next one when that changes.
func Client(dataDir string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return Dial(ctx, dataDir)
		},
		DisableCompression: true,
	}}
}
