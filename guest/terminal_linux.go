package guest

import (
	"fmt"
	"net/http"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// terminal is a pseudo-terminal. The command has the one end as its standard
// streams, the guest the other.
type terminal struct {
	master *pipeEnd
	// tty is the command's end. It stays open until the command has ended: a
	// moment in which no program has it open would else be the end of all output,
	// and of the terminal.
	tty *os.File
}

// terminalBuffers is more than the kernel holds of a terminal's output.
const terminalBuffers = 128 << 10

func openTerminal(size protocol.WindowSize) (_ *terminal, err error) {
	kernel.Lock()
	defer kernel.Unlock()
	master, tty, err := pty.Open()
	if err != nil {
		return nil, noTerminal(err)
	}
	defer master.Close() // the one that stays is a duplicate
	defer func() {
		if err != nil {
			tty.Close()
			err = noTerminal(err)
		}
	}()
	if err := pty.Setsize(master, &pty.Winsize{Rows: size.Rows, Cols: size.Columns}); err != nil {
		return nil, err
	}
	if err := speakUTF8(int(tty.Fd())); err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	unix.SetNonblock(fd, true)
	end, err := newPipeEnd(fd)
	return &terminal{end, tty}, err
}

func noTerminal(err error) error {
	return &protocol.Error{Code: protocol.ErrBusy, Message: fmt.Sprintf("open a terminal: %v", err)}
}

// speakUTF8 makes erasing a character, while a line is typed, take all its bytes.
func speakUTF8(fd int) error {
	settings, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	settings.Iflag |= unix.IUTF8
	return unix.IoctlSetTermios(fd, unix.TCSETS, settings)
}

// letGo leaves the command's end to those programs that still have it.
func (t *terminal) letGo() {
	kernel.Lock()
	defer kernel.Unlock()
	t.tty.Close()
}

// endOfFile is what a person would type to end the input: the end-of-file
// character, twice if the line so far has not been ended, for the first then only
// sends that. A program that reads every key (as those with line editing do) gets
// the character as it is.
func (t *terminal) endOfFile(midLine bool) []byte {
	const usual = 'D' - '@'
	eof, byLine := byte(usual), true
	t.master.raw.Control(func(fd uintptr) {
		if settings, err := unix.IoctlGetTermios(int(fd), unix.TCGETS); err == nil {
			eof, byLine = settings.Cc[unix.VEOF], settings.Lflag&unix.ICANON != 0
		}
	})
	if eof == 0 { // switched off
		eof = usual
	}
	if midLine && byLine {
		return []byte{eof, eof}
	}
	return []byte{eof}
}

// foreground is the process group that the terminal belongs to now; 0: none.
func (t *terminal) foreground() (group int) {
	t.master.raw.Control(func(fd uintptr) {
		if n, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP); err == nil {
			group = n
		}
	})
	return group
}

// resize sets the size; the kernel tells the foreground with a SIGWINCH.
func (t *terminal) resize(size protocol.WindowSize) (err error) {
	gone := t.master.raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
	})
	if gone != nil {
		return errJobEnded
	}
	return err
}

// resizeJob serves PathResize.
func (g *guest) resizeJob(w http.ResponseWriter, r *http.Request) error {
	var params protocol.ResizeParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	j, err := g.jobs.find(params.ID)
	if err != nil {
		return err
	}
	switch {
	case !params.Size.Valid():
		return errWindow
	case !j.terminal:
		return &protocol.Error{Code: protocol.ErrConflict, Message: "the exec has no terminal"}
	case j.run.terminal == nil || isClosed(j.halted):
		return errJobEnded
	}
	leave, err := g.gate.enter(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	if err := j.run.terminal.resize(params.Size); err != nil {
		return err
	}
	return answer(w, struct{}{})
}

var errWindow = &protocol.Error{Code: protocol.ErrInvalid, Message: fmt.Sprintf("a terminal has 1 to %d columns and rows", protocol.MaxWindow)}
