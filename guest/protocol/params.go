package protocol

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxParams bounds the JSON of a Params frame; an environment and an argument
// list, which the kernel bounds to about 2 MiB together, fit with room.
const MaxParams = 4 << 20

// ErrMalformed is a message that breaks the protocol.
var ErrMalformed = errors.New("malformed message")

// EncodeParams returns the Params frame of v, which opens a request body.
func EncodeParams(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode params: %w", err)
	}
	if len(body) > MaxParams {
		return nil, &Error{Code: ErrInvalid, Message: fmt.Sprintf("arguments and environment take %d bytes, at most %d are possible", len(body), MaxParams)}
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	return append(frame, body...), nil
}

// DecodeParams reads a Params frame from r into v and leaves r at the payload
// that follows.
func DecodeParams(r io.Reader, v any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return fmt.Errorf("read params: %w", unexpected(err))
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > MaxParams {
		return fmt.Errorf("%w: params of %d bytes", ErrMalformed, n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return fmt.Errorf("read params: %w", unexpected(err))
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: params: %v", ErrMalformed, err)
	}
	return nil
}
