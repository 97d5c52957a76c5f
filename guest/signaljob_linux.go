package guest

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// signalJob serves PathSignal.
func (g *guest) signalJob(w http.ResponseWriter, r *http.Request) error {
	var params protocol.SignalParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	j, err := g.jobs.find(params.ID)
	if err != nil {
		return err
	}
	sig, ok := signalNumber(params.Signal)
	if !ok {
		return &protocol.Error{Code: protocol.ErrInvalid, Message: "signal: not a name as SIGINT"}
	}
	leave, err := g.gate.enter(r.Context()) // SIGCONT must not start what a snapshot holds still
	if err != nil {
		return err
	}
	defer leave()
	if sig == unix.SIGKILL {
		j.run.shot.Store(true)
	}
	if !j.signal(sig) {
		return errJobEnded
	}
	return answer(w, struct{}{})
}

// signal reaches the command's process group, and the terminal's foreground.
func (j *job) signal(sig unix.Signal) bool {
	p := j.run.process
	if p == nil || !j.guest.table.signalGroup(p, sig) {
		return false
	}
	if !j.terminal {
		return true
	}
	// The kernel may have given that group's number to another by now, so only
	// what carries the mark is signalled.
	if group := j.run.terminal.foreground(); group > 0 && group != p.pid {
		p = &process{pid: p.pid, mark: p.mark, seen: map[identity]bool{}}
		for _, s := range j.guest.marks.descendants(p, all) {
			if s.group == group {
				j.guest.signalMarked(p, s.pid, sig)
			}
		}
	}
	return true
}

// killJob serves PathKill.
func (g *guest) killJob(w http.ResponseWriter, r *http.Request) error {
	var params protocol.KillParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	j, err := g.jobs.find(params.ID)
	if err != nil {
		return err
	}
	if err := j.kill(r.Context()); err != nil {
		return err
	}
	return answer(w, struct{}{})
}

// Real-time signals as the C library of glibc numbers them: it keeps the first
// two for itself.
const (
	firstRealTime = 34
	lastRealTime  = 64
)

var otherNames = map[string]unix.Signal{
	"SIGIOT": unix.SIGABRT, "SIGCLD": unix.SIGCHLD, "SIGPOLL": unix.SIGIO, "SIGRTMIN": firstRealTime,
}

// signalNumber knows every signal's name: SIGINT and the like, and SIGRTMIN+n.
func signalNumber(name string) (sig unix.Signal, ok bool) {
	if sig := cmp.Or(unix.SignalNum(name), otherNames[name]); sig != 0 {
		return sig, true
	}
	digits, ok := strings.CutPrefix(name, "SIGRTMIN+")
	n, err := strconv.ParseUint(digits, 10, 8)
	return unix.Signal(firstRealTime + n), ok && err == nil && n <= lastRealTime-firstRealTime
}
