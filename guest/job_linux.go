package guest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// job is an exec that may outlive the call that started it.
type job struct {
	guest    *guest
	id       string
	argv     []string
	terminal bool
	run      *execution
	tape     *tape   // output
	first    *reader // holds a terminal's output until it is followed; nil: nothing does
	stdin    *stdin
	input    *input // nil: it has none that can be fed later
	kept     *keptInput

	cancel     context.CancelFunc // kills it
	halted     chan struct{}      // closed when it has ended, or was killed
	unattended chan struct{}      // closed when it was handed over
	pollers    slots
	killing    sync.Mutex
}

// maxPollers is how many polls of one job wait at a time.
const maxPollers = 8

// newJob starts a command, with a reader that has its whole output.
func (g *guest) newJob(ctx context.Context, params protocol.StartParams) (_ *job, whole *reader, err error) {
	j := &job{
		guest: g, id: params.ID, argv: firstBytes(params.Argv, protocol.MaxArgv), terminal: params.Terminal != nil,
		halted: make(chan struct{}), unattended: make(chan struct{}), pollers: newSlots(maxPollers),
	}
	if j.tape, err = newTape(2, g.jobs.ringSize); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			j.eraseInput()
			j.tape.erase()
		}
	}()
	if params.HasStdin {
		if j.kept, err = g.newKeptInput(); err != nil {
			return nil, nil, err
		}
	}
	whole, _ = j.tape.open([2]int64{}, true)
	if j.terminal {
		j.first, _ = j.tape.open([2]int64{}, true)
	}
	all := params.ExecParams
	all.MaxStdout, all.MaxStderr = -1, -1
	j.run = newExecution(g, all, j.tape)
	alive, cancel := context.WithCancel(context.Background())
	j.cancel = cancel
	err = j.launch(ctx, params)
	var n *notRun
	if params.Wait <= 0 && errors.As(err, &n) { // its caller only wants to know that it is on its way
		j.neverRun(n)
		return j, whole, nil
	}
	if err != nil {
		return nil, nil, err
	}
	go j.supervise(alive)
	return j, whole, nil
}

// launch starts the command, on its terminal if it is to have one.
func (j *job) launch(ctx context.Context, params protocol.StartParams) error {
	var streams *streams
	var err error
	if params.Terminal != nil {
		streams, err = terminalStreams(*params.Terminal)
	} else {
		streams, err = openStreams(params.HasStdin || params.Input)
	}
	if err == nil {
		err = j.run.launch(ctx, streams)
	}
	if err != nil {
		return err
	}
	j.stdin = &stdin{pipe: streams.stdin, terminal: streams.terminal}
	if !params.HasStdin && (params.Input || params.Terminal != nil) {
		j.input = newInput(j.stdin)
	}
	return nil
}

func (j *job) eraseInput() {
	if j.kept != nil {
		j.kept.tape.erase()
		j.kept = nil
	}
}

// firstFollow is how long a terminal's output is held for who comes to follow it.
const firstFollow = 10 * time.Second

// followed says that somebody else holds the output, or nobody will.
func (j *job) followed() {
	if j.first != nil {
		j.first.close()
	}
}

func (j *job) hasEnded() bool { return isClosed(j.tape.done) }

// neverRun makes j one that has ended as a shell would say.
func (j *job) neverRun(n *notRun) {
	j.eraseInput()
	text := []byte(n.message + "\n")
	j.tape.put(1, text)
	close(j.halted)
	j.tape.end(protocol.ExecResult{ExitCode: n.code, StderrBytes: int64(len(text)), Duration: time.Since(j.run.began)})
}

// supervise sees the command to its end.
func (j *job) supervise(ctx context.Context) {
	defer j.cancel()
	j.run.wait(ctx, j.unattended)
	close(j.halted)
	switch {
	case j.terminal:
		j.run.terminal.letGo()
	case j.run.input != nil:
		j.run.input.close() // under who still feeds it, and then finds it halted
	}
	result, _ := j.run.drain()
	j.tape.end(result)
}

// kill ends the job with all that it started, and what it has left behind. It
// returns when that is done.
func (j *job) kill(ctx context.Context) error {
	j.followed() // its end does not wait for anybody to come
	j.cancel()
	select {
	case <-j.halted:
	case <-ctx.Done():
		return ctx.Err()
	}
	if j.run.process != nil && !j.killRest() {
		return &protocol.Error{Code: protocol.ErrInternal, Message: "not all of it could be killed yet: what is inside the kernel ends when it leaves that"}
	}
	// Its end follows, unless somebody reads the output slowly.
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-j.tape.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// killRest kills by mark alone: the process that began it all is gone, and its
// ID may belong to another.
func (j *job) killRest() bool {
	j.killing.Lock()
	defer j.killing.Unlock()
	p := j.run.process
	return j.guest.killTree(&process{pid: -1, mark: p.mark, seen: p.seen}, time.Now().Add(killPatience))
}

func (j *job) state() protocol.ExecState {
	s := protocol.ExecState{ID: j.id, Argv: j.argv, Started: j.run.began, Terminal: j.terminal, Result: j.tape.outcome()}
	if s.Result.Running {
		s.Result.Duration = time.Since(s.Started)
	}
	return s
}

// firstBytes is as much of argv as fits, as text.
func firstBytes(argv []string, limit int) (first []string) {
	for _, arg := range argv {
		if limit <= 0 {
			break
		}
		arg = strings.ToValidUTF8(arg, "\uFFFD")
		arg = strings.ToValidUTF8(arg[:min(len(arg), limit)], "")
		first = append(first, arg)
		limit -= len(arg) + 1
	}
	return first
}
