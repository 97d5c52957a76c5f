package guest

// stdin is the standard input of a job: a pipe that ends when it is closed, or a
// terminal, where an end is typed like all else.
type stdin struct {
	pipe     *pipeEnd
	terminal *terminal // nil: a pipe
	midLine  bool      // what was typed last has not ended its line
}

// Write is by one caller at a time.
func (s *stdin) Write(p []byte) (n int, err error) {
	n, err = s.pipe.Write(p)
	if n > 0 {
		last := p[n-1]
		s.midLine = last != '\n' && last != '\r'
	}
	return n, err
}

// end ends a pipe for good; on a terminal more may follow.
func (s *stdin) end() (err error) {
	if s.terminal == nil {
		s.pipe.close()
		return nil
	}
	_, err = s.pipe.Write(s.terminal.endOfFile(s.midLine))
	s.midLine = false
	return err
}
