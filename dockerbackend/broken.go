package dockerbackend

import (
	"errors"
	"io"
	"net"
)

// broken tells whether err is a connection's end, and not an answer.
func broken(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
