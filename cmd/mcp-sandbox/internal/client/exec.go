package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

const (
	// maxLine bounds an event; the server's are far smaller.
	maxLine = 8 << 20
	// maxSilence is how long a stream may be silent: the server writes a blank
	// line every ten seconds.
	maxSilence = time.Minute
)

// Exec runs a command to its end.
func (c *Client) Exec(ctx context.Context, id schemas.SandboxID, r schemas.ExecRequest) (Answer[schemas.ExecResult], error) {
	return ask[schemas.ExecResult](ctx, c, request{method: http.MethodPost, path: sandboxPath(id, "/exec"), json: r})
}

// ExecStream runs a command and hands over its output as it arrives, byte for
// byte. The command is killed when ctx ends, and when emit fails, whose error is
// returned then.
func (c *Client) ExecStream(ctx context.Context, id schemas.SandboxID, r schemas.ExecRequest, emit func(schemas.Stream, []byte) error) (schemas.ExecExit, error) {
	r.Encoding = schemas.EncodingBase64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := c.send(ctx, request{method: http.MethodPost, path: sandboxPath(id, "/exec/stream"), json: r})
	if err != nil {
		return schemas.ExecExit{}, err
	}
	defer resp.Body.Close()
	body := watch(resp.Body, maxSilence, func() { cancel(errSilent) })
	exit, err := readEvents(body, emit)
	if errors.Is(err, errCut) {
		err = c.lostStream(ctx, err)
	}
	return exit, err
}

// event is any line of a stream.
type event struct {
	Type  string        `json:"type"`
	Data  []byte        `json:"data"`
	Error schemas.Error `json:"error"`
	schemas.ExecExit
}

var (
	errCut    = errors.New("the stream was cut off")
	errSilent = errors.New("it has been silent for too long")
)

func readEvents(r io.Reader, emit func(schemas.Stream, []byte) error) (exit schemas.ExecExit, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return exit, strange("the stream has a line that is not what it should be: " + err.Error())
		}
		switch e.Type {
		case "stdout", "stderr":
			if err := emit(schemas.Stream(e.Type), e.Data); err != nil {
				return exit, err
			}
		case "exit":
			return e.ExecExit, nil
		case "error":
			return exit, &Error{Body: e.Error, Status: http.StatusOK}
		}
	}
	return exit, errors.Join(errCut, lines.Err())
}

// lostStream is a command that was not seen to its end.
func (c *Client) lostStream(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && cause != errSilent {
		return cause
	} else if cause != nil {
		err = cause
	}
	return &Error{Cause: err, Body: schemas.Error{
		Code: schemas.CodeBackendUnavailable, Message: "the connection to " + c.Name + " was lost while the command ran: " + oneLine(err),
		Hint: "The server kills a command whose caller has gone. What it had done by then stays done: look before you repeat it.",
	}}
}

func oneLine(err error) string {
	return string(bytes.ReplaceAll([]byte(err.Error()), []byte("\n"), []byte(": ")))
}

// watched is a reader that must not be silent for long. Time that passes between
// two reads does not count.
type watched struct {
	r     io.Reader
	limit time.Duration
	timer *time.Timer
}

func watch(r io.Reader, limit time.Duration, silent func()) *watched {
	w := &watched{r: r, limit: limit, timer: time.AfterFunc(limit, silent)}
	w.timer.Stop()
	return w
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	defer w.timer.Stop()
	return w.r.Read(p)
}
