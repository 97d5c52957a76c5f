package backendtest

import (
	"context"
	"io"
)

// pump reads ahead of a call, so that the call can end while a Read of what it
// was given is blocked. Closing it lets go of the source after that Read.
func pump(ctx context.Context, from io.Reader) io.ReadCloser {
	if from == nil {
		return io.NopCloser(eof{})
	}
	pr, pw := io.Pipe()
	stop := context.AfterFunc(ctx, func() { pr.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		_, err := io.Copy(pw, from)
		pw.CloseWithError(err)
	}()
	return pr
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
