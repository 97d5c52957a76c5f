package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// docker speaks to the Engine API by hand: what is measured is Docker, not a
// client library.
type docker struct {
	http *http.Client
}

func newDocker() *docker {
	socket := strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if socket == "" {
		socket = "/var/run/docker.sock"
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &docker{&http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 4}}}
}

// call does one request and hands over the body.
func (d *docker) call(ctx context.Context, method, path string, body any, read func(io.Reader) error) error {
	var in bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&in).Encode(body); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://docker"+path, &in)
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := d.http.Do(req)
	if err != nil {
		return fmt.Errorf("docker %s: %w", path, err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 400 {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("docker %s: %s %s", path, res.Status, text)
	}
	return read(res.Body)
}

func (d *docker) get(ctx context.Context, path string, into any) error {
	return d.call(ctx, "GET", path, nil, func(r io.Reader) error { return json.NewDecoder(r).Decode(into) })
}

// container is the ID and the first process of a sandbox's container.
func (d *docker) container(ctx context.Context, sandbox string) (id string, pid int, err error) {
	var list []struct {
		ID    string `json:"Id"`
		Names []string
	}
	if err := d.get(ctx, "/containers/json", &list); err != nil {
		return "", 0, err
	}
	for _, c := range list {
		if strings.Contains(strings.Join(c.Names, " "), sandbox) {
			var about struct{ State struct{ Pid int } }
			err := d.get(ctx, "/containers/"+c.ID+"/json", &about)
			return c.ID, about.State.Pid, err
		}
	}
	return "", 0, fmt.Errorf("no container of %s", sandbox)
}

// exec runs a command to its end by Docker's own exec: create, start, read, inspect.
func (d *docker) exec(ctx context.Context, container string, argv ...string) error {
	var made struct {
		ID string `json:"Id"`
	}
	err := d.call(ctx, "POST", "/containers/"+container+"/exec", map[string]any{"Cmd": argv, "AttachStdout": true, "AttachStderr": true},
		func(r io.Reader) error { return json.NewDecoder(r).Decode(&made) })
	if err != nil {
		return err
	}
	err = d.call(ctx, "POST", "/exec/"+made.ID+"/start", map[string]any{"Detach": false},
		func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err })
	if err != nil {
		return err
	}
	var state struct{ ExitCode *int }
	if err := d.get(ctx, "/exec/"+made.ID+"/json", &state); err != nil {
		return err
	}
	if state.ExitCode == nil {
		return fmt.Errorf("docker exec %v: has no exit code", argv)
	}
	if *state.ExitCode != 0 {
		return fmt.Errorf("docker exec %v: exit code %d", argv, *state.ExitCode)
	}
	return nil
}

// archive reads the tar that Docker makes of a directory, and tells its size.
func (d *docker) archive(ctx context.Context, container, path string) (size int64, err error) {
	err = d.call(ctx, "GET", "/containers/"+container+"/archive?path="+path, nil,
		func(r io.Reader) (err error) { size, err = io.Copy(io.Discard, r); return err })
	return size, err
}
