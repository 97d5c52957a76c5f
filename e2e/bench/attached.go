package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// attached is a shell as the first process of a sandbox's twin, with its streams
// attached: whatever is run, read or written over such streams takes at least
// what it takes here. It reads lines and runs them one by one.
type attached struct {
	docker *docker
	name   string
	conn   net.Conn
	in     *bufio.Reader
}

const attachedShell = `cd /workspace; while read -r line; do eval "$line"; echo; done`

// attach makes the twin, and attaches to it.
func (t *twin) attach(ctx context.Context) (*attached, error) {
	name, err := t.make(ctx, args{"Entrypoint": []string{"/bin/sh", "-c", attachedShell}, "Cmd": nil})
	if err != nil {
		return nil, err
	}
	conn, err := t.docker.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("reach docker: %w", err)
	}
	a := &attached{t.docker, name, conn, bufio.NewReaderSize(conn, 64<<10)}
	fmt.Fprintf(conn, "POST /containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1 HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n", name)
	res, err := http.ReadResponse(a.in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		conn.Close()
		return nil, fmt.Errorf("attach: %v, %w", res, err)
	}
	return a, t.start(ctx, name)
}

// run has the shell run a line, with input after it, which has to write so many
// bytes.
func (a *attached) run(line string, input []byte, output int) error {
	for _, p := range [][]byte{[]byte(line + "\n"), input} {
		if _, err := a.conn.Write(p); err != nil {
			return fmt.Errorf("write to the attached shell: %w", err)
		}
	}
	var header [8]byte // stream, three zeros, length
	for output++; output > 0; {
		if _, err := io.ReadFull(a.in, header[:]); err != nil {
			return a.lost(err)
		}
		n, err := io.CopyN(io.Discard, a.in, int64(binary.BigEndian.Uint32(header[4:])))
		if err != nil {
			return a.lost(err)
		}
		output -= int(n)
	}
	if output < 0 {
		return fmt.Errorf("the attached shell wrote %d bytes too many at %q", -output, line)
	}
	return nil
}

// lost says what Docker knows of a shell whose streams have ended.
func (a *attached) lost(err error) error {
	var now struct{ State map[string]any }
	asked := a.docker.ask(context.Background(), "GET", "/containers/"+a.name+"/json", nil, &now)
	return fmt.Errorf("read from the attached shell: %w (its container: %v %v)", err, now.State, asked)
}

func (a *attached) close() { a.conn.Close() }

// behindHTTP is the shell behind a server that does nothing else, inside this
// process, for the same client as /v1 has: what an exec takes at least by an API
// like that.
func (a *attached) behindHTTP() (*client.Client, *http.Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req schemas.ExecRequest
		err := json.NewDecoder(r.Body).Decode(&req)
		if err == nil {
			err = a.run(strings.Join(req.Command.Argv, " "), nil, 0)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(schemas.ExecResult{})
	})}
	go server.Serve(listener)
	return &client.Client{URL: "http://" + listener.Addr().String(), HTTP: &http.Client{}}, server, nil
}
