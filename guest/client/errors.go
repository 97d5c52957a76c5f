package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// ErrLost is a channel that died, or a response that stopped before its end.
var ErrLost = errors.New("guest connection lost")

// ErrHandshake is a guest that did not answer when a session was to begin: it
// hangs, it is no guest, or it holds a torn key. The container needs a restart.
// Such an error is an ErrLost too.
var ErrHandshake = errors.New("guest did not answer the handshake")

// ErrMalformed is an answer that breaks the protocol. It comes wrapped with
// ErrLost, because nothing that such a guest says can be relied on.
var ErrMalformed = protocol.ErrMalformed

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w: %s", ErrLost, ErrMalformed, fmt.Sprintf(format, args...))
}

// lost wraps err so that it is an ErrLost, unless it is the caller's own doing.
func lost(ctx context.Context, err error) error {
	var refused *protocol.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrLost), errors.As(err, &refused):
		return err
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

const maxMessage = 4 << 10

// responseError reads the error of a response that is not a success.
func responseError(res *http.Response) error {
	switch {
	case res.StatusCode < 400:
		return malformed("status %d", res.StatusCode)
	case res.StatusCode == http.StatusNotFound: // a guest's own refusals are 400 and 500
		return &protocol.Error{Code: protocol.ErrUnknownCall, Message: "the sandbox was started by an older release, which cannot do this"}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 2*maxMessage))
	if err != nil {
		return err
	}
	return parseError(body)
}

// trailerError is the error that cut a response short, if one did. Trailers are
// there once the body has been read to its end.
func trailerError(res *http.Response) error {
	text := res.Trailer.Get(protocol.ErrorTrailer)
	if text == "" {
		return nil
	}
	return parseError([]byte(text))
}

func parseError(text []byte) error {
	e := &protocol.Error{}
	if err := json.Unmarshal(text, e); err != nil {
		return malformed("an error that is none")
	}
	return checkError(e)
}

func checkError(e *protocol.Error) error {
	if !e.Code.Known() {
		return malformed("an error that is none")
	}
	if len(e.Message) > maxMessage {
		e.Message = e.Message[:maxMessage]
	}
	e.Message = strings.ToValidUTF8(e.Message, "\uFFFD")
	return e
}
