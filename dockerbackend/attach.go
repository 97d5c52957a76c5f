package dockerbackend

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/faults"
)

// attach connects to a container's standard streams, running or not yet.
func (b *Backend) attach(ctx context.Context, name string) (*stream, error) {
	conn, err := look(ctx, b.docker, "attach to container", func(ctx context.Context) (net.Conn, error) {
		return b.docker.attach(ctx, name)
	})
	if err != nil {
		return nil, err
	}
	return newStream(conn, b.log.With("container", name)), nil
}

// attach gives up when ctx ends, which Docker's client does not: it heeds ctx
// while it connects, but not while it waits for the answer. What comes too late
// is closed.
func (e *engine) attach(ctx context.Context, name string) (net.Conn, error) {
	type result struct {
		response types.HijackedResponse
		err      error
	}
	done := make(chan result, 1)
	go func() {
		response, err := e.api.ContainerAttach(ctx, name, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
		done <- result{response, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return r.response.Conn, nil
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				r.response.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// How long a guest's first answer may take. Milliseconds are usual, and the
// guest is served first in its sandbox: this is for a very busy host.
const (
	bootLimit  = 10 * time.Second // one that is just being started
	greetLimit = 5 * time.Second  // one that runs
)

func noGreeting(limit time.Duration) error {
	return fmt.Errorf("%w within %v", client.ErrHandshake, limit)
}

// greet begins a session with the guest at the other end of s, which is closed
// when none comes about before ctx ends.
func (b *Backend) greet(ctx context.Context, name string, s *stream, key protocol.Key) (*guest, error) {
	c, err := client.Dial(ctx, s, key)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, greetError(err)
	}
	faults.Point("docker.greeted")
	return b.newGuest(name, c), nil
}

// version asks the guest for its version of the protocol.
func (g *guest) version(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetLimit, fmt.Errorf("%w: no answer to the first call", client.ErrHandshake))
	defer cancel()
	hello, err := g.client.Hello(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return 0, greetError(err)
	}
	return hello.Version, nil
}

func greetError(err error) error {
	if !errors.Is(err, client.ErrLost) && !errors.Is(err, client.ErrHandshake) {
		return dockerError("reach the sandbox", err)
	}
	return &manager.Error{
		Kind: manager.KindBackend, Message: "the process inside the sandbox did not answer", Retryable: true,
		Hint: "Try again; if that does not help, roll back or destroy the sandbox.", Cause: err,
	}
}

func parseKey(text string) (key protocol.Key, err error) {
	if n, err := hex.Decode(key[:], []byte(text[:min(len(text), 2*len(key))])); err != nil || n != len(key) || len(text) != 2*len(key) {
		return key, &manager.Error{Kind: manager.KindInternal, Message: "the sandbox's key is not 64 hex digits"}
	}
	return key, nil
}
