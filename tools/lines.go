package tools

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// maxLine is the longest message taken. It leaves room for a file of the usual
// limit written as base64 or escaped text.
const maxLine = 128 << 20

var errLineTooLong = errors.New("message is too long")

// readLine is the next line of r with its end; a last line may lack one. Of a
// line that is too long nothing is kept, and the one after it can still be read.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > most; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(line) > 0, err == nil && !tooLong:
			return line, nil
		case err == nil:
			return nil, errLineTooLong
		default:
			return nil, err
		}
	}
}

// lineWriter writes whole lines from many goroutines, in the order of the calls.
// The first failure ends the connection.
type lineWriter struct {
	mu     sync.Mutex
	w      io.Writer
	err    error
	failed func()
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.w.Write(p)
	if err != nil {
		l.err = err
		l.failed()
	}
	return n, err
}

// broken is the failure, if there was one.
func (l *lineWriter) broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
