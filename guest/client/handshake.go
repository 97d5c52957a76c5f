package client

import (
	"io"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// handshake greets the guest, discards what an earlier session left in the
// stream, and keeps what already came after the guest's answer. It ends when
// the conn dies, at the latest.
//
// The greeting goes out beside the reading, for a guest that is blocked on
// writing to us would not read it.
func (c *conn) handshake(key protocol.Key, nonce protocol.Nonce) (err error) {
	go c.Write(protocol.Greeting(key, nonce))
	c.early, err = await(c, protocol.Answer(key, nonce))
	return err
}

// await reads up to the end of answer and returns what was read beyond it.
func await(r io.Reader, answer []byte) ([]byte, error) {
	match := protocol.NewMatcher(answer)
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if k, found := match.Find(buf[:n]); found {
			return append([]byte(nil), buf[k:n]...), nil
		}
		if err != nil {
			return nil, err
		}
	}
}
