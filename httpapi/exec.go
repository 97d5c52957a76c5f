package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func runExec(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.ExecRequest](c, maxExecBody)
	if err != nil {
		return err
	}
	result, running, err := c.Exec(c.ctx(), c.owner, id, req)
	if running != nil {
		return c.answer(http.StatusAccepted, running, err)
	}
	if err != nil {
		return err
	}
	text, err := encodeResult(result)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, text)
	return nil
}

// encodeResult is encode, for output of any size.
func encodeResult(r schemas.ExecResult) ([]byte, error) {
	stdout, stderr := r.Stdout, r.Stderr
	r.Stdout, r.Stderr = "", ""
	text, err := encode(r)
	rest, ok := bytes.CutPrefix(text, []byte(`{"stdout":"","stderr":""`))
	if err != nil || !ok {
		return nil, fmt.Errorf("encode result as %.50q: %w", text, err)
	}
	size := len(stdout) + len(stderr)
	b := make([]byte, 0, size+size/16+len(text))
	b = appendText(append(b, `{"stdout":`...), []byte(stdout))
	b = appendText(append(b, `,"stderr":`...), []byte(stderr))
	return append(b, rest...), nil
}

// streamExec answers with an ordinary error as long as the stream has not begun.
func streamExec(c *call) error {
	id, err := c.sandboxID()
	if err != nil {
		return err
	}
	req, err := decode[schemas.ExecRequest](c, maxExecBody)
	if err != nil {
		return err
	}
	if req.Background || req.WaitSeconds != nil {
		return invalid("", "a stream follows its command to the end; for background and wait_seconds use %s", strings.TrimSuffix(c.r.URL.Path, "/stream"))
	}
	s := newEventStream(c.w, c.times)
	rest := s.keepAwake(c.ctx())
	out := newOutput(s, req.Encoding)
	exit, _, err := c.ExecStream(c.ctx(), c.owner, id, req, out.emit)
	rest()
	if err == nil {
		err = out.flush()
	}
	switch {
	case err == nil:
		_ = s.send(schemas.ExitEvent{Type: "exit", ExecExit: exit})
	case !s.begun():
		return err
	default:
		c.logFailure(c.r, public(err).Code, err)
		_ = s.send(schemas.ErrorEvent{Type: "error", Error: public(err)})
	}
	return nil
}

// keepAwake writes blank lines into the silence until it is called off.
func (s *eventStream) keepAwake(ctx context.Context) (off func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { s.beat(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}
