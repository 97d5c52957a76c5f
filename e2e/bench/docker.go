package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// docker speaks to the Engine API by hand: what is measured is Docker, not a
// client library.
type docker struct {
	http   *http.Client
	socket string
}

func newDocker() *docker {
	socket := strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if socket == "" {
		socket = "/var/run/docker.sock"
	}
	d := &docker{socket: socket}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dial(ctx) }
	d.http = &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 64}}
	return d
}

func (d *docker) dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
}

// call does one request and hands over the body.
func (d *docker) call(ctx context.Context, method, path string, body any, read func(io.Reader) error) error {
	in, typ := io.Reader(nil), "application/json"
	switch b := body.(type) {
	case nil:
	case io.Reader:
		in, typ = b, "application/x-tar"
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://docker"+path, in)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Content-Type", typ)
	res, err := d.http.Do(req)
	if err != nil {
		return fmt.Errorf("docker %s: %w", path, err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 400 {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("docker %s: %s %s", path, res.Status, text)
	}
	if read == nil {
		read = func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	}
	return read(res.Body)
}

// ask does one request whose answer is JSON.
func (d *docker) ask(ctx context.Context, method, path string, body, into any) error {
	return d.call(ctx, method, path, body, func(r io.Reader) error { return json.NewDecoder(r).Decode(into) })
}

// about is what Docker says of a container.
type about struct {
	ID         string `json:"Id"`
	State      struct{ Pid int }
	Config     map[string]any
	HostConfig map[string]any
}

// find is the container of a sandbox, by the ID in its name.
func (d *docker) find(ctx context.Context, sandbox string) (a about, err error) {
	var list []struct {
		ID string `json:"Id"`
	}
	filter := url.QueryEscape(fmt.Sprintf(`{"name":[%q]}`, sandbox))
	if err := d.ask(ctx, "GET", "/containers/json?filters="+filter, nil, &list); err != nil {
		return a, err
	}
	if len(list) != 1 {
		return a, fmt.Errorf("%s has %d containers", sandbox, len(list))
	}
	return a, d.ask(ctx, "GET", "/containers/"+list[0].ID+"/json", nil, &a)
}

// exec runs a command to its end by Docker's own exec: create, start, read,
// inspect. first is called with the first bytes of output.
func (d *docker) exec(ctx context.Context, container string, into io.Writer, argv ...string) error {
	var made struct {
		ID string `json:"Id"`
	}
	if err := d.ask(ctx, "POST", "/containers/"+container+"/exec", args{"Cmd": argv, "AttachStdout": true, "AttachStderr": true}, &made); err != nil {
		return err
	}
	err := d.call(ctx, "POST", "/exec/"+made.ID+"/start", args{"Detach": false}, func(r io.Reader) error { _, err := io.Copy(into, r); return err })
	if err != nil {
		return err
	}
	var state struct{ ExitCode *int }
	if err := d.ask(ctx, "GET", "/exec/"+made.ID+"/json", nil, &state); err != nil {
		return err
	}
	if state.ExitCode == nil || *state.ExitCode != 0 {
		return fmt.Errorf("docker exec %v: no exit code 0", argv)
	}
	return nil
}

// archive reads the tar that Docker makes of a path.
func (d *docker) archive(ctx context.Context, container, path string, into io.Writer) (size int64, err error) {
	err = d.call(ctx, "GET", "/containers/"+container+"/archive?path="+url.QueryEscape(path), nil,
		func(r io.Reader) (err error) { size, err = io.Copy(into, r); return err })
	return size, err
}

// extract has Docker extract a tar into a directory.
func (d *docker) extract(ctx context.Context, container, path string, tar io.Reader) error {
	return d.call(ctx, "PUT", "/containers/"+container+"/archive?path="+url.QueryEscape(path), tar, nil)
}
