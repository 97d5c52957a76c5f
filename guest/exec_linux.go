package guest

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// exec serves PathExec: it runs one command to its end.
func (g *guest) exec(w http.ResponseWriter, r *http.Request) error {
	var params protocol.ExecParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	if len(params.Argv) == 0 {
		return &protocol.Error{Code: protocol.ErrInvalid, Message: "argv is empty"}
	}
	if err := g.execs.try(); err != nil {
		return err
	}
	defer g.execs.release()

	out := newFrameWriter(w, params.Packs)
	defer out.close()
	result, err := newExecution(g, params, out).run(r)
	if err != nil {
		return tellNotRun(err, params, out)
	}
	return out.result(result)
}

// execution is one command on its way.
type execution struct {
	guest  *guest
	params protocol.ExecParams
	out    sink
	began  time.Time
	kills  int64 // OOM kills in the sandbox before

	process   *process
	input     *pipeEnd // nil: the command reads the null device
	outlets   []*outlet
	terminal  *terminal // nil: it has none
	timedOut  bool
	killed    bool        // because nobody wants it any more
	shot      atomic.Bool // a caller has sent it a SIGKILL
	oomKilled bool
}

func newExecution(g *guest, params protocol.ExecParams, out sink) *execution {
	e := &execution{guest: g, params: params, out: out, began: time.Now()}
	e.kills, _ = g.oom.look()
	return e
}

func (e *execution) run(r *http.Request) (result protocol.ExecResult, err error) {
	streams, err := openStreams(e.params.HasStdin)
	if err != nil {
		return result, err
	}
	if err := e.launch(r.Context(), streams); err != nil {
		return result, err
	}
	if e.input != nil {
		go feed(e.input, r.Body)
		defer e.input.close()
	}
	if err := e.wait(r.Context(), nil); err != nil {
		e.abandon()
		return result, err
	}
	return e.drain()
}

// launch starts the command, and the outlets. The error may be a *notRun.
func (e *execution) launch(ctx context.Context, streams *streams) error {
	if err := e.start(ctx, streams); err != nil {
		kernel.Lock()
		defer kernel.Unlock()
		streams.closeAll()
		return err
	}
	streams.closeChildEnds()
	e.input, e.terminal = streams.stdin, streams.terminal
	e.outlets = append(e.outlets, newOutlet(streams.stdout, protocol.Stdout, e.params.MaxStdout, e.out))
	if streams.terminal != nil {
		e.outlets[0].hidden = terminalBuffers
	}
	if streams.stderr != nil {
		e.outlets = append(e.outlets, newOutlet(streams.stderr, protocol.Stderr, e.params.MaxStderr, e.out))
	}
	return nil
}

// start starts the command, unless a snapshot holds the sandbox still.
func (e *execution) start(ctx context.Context, s *streams) error {
	leave, err := e.guest.gate.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	e.began = time.Now()
	l := launch{argv: e.params.Argv, env: e.params.Env, dir: string(e.params.Dir), files: s.child, terminal: s.terminal != nil}
	e.process, err = e.guest.spawner.start(l)
	if isFull(err) && e.guest.relieve() {
		e.process, err = e.guest.spawner.start(l)
	}
	return err
}

func isFull(err error) bool {
	var e *protocol.Error
	return errors.As(err, &e) && e.Code == protocol.ErrNoProcesses
}

// tellNotRun turns a command that could not be run into what a shell makes of
// it. Any other error it returns.
func tellNotRun(err error, params protocol.ExecParams, out *frameWriter) error {
	var n *notRun
	if !errors.As(err, &n) {
		return err
	}
	text := []byte(n.message + "\n")
	total := int64(len(text))
	if limit := params.MaxStderr; limit >= 0 {
		text = text[:min(total, limit)]
	}
	if err := out.write(protocol.Stderr, append(make([]byte, protocol.FrameHeaderSize), text...)); err != nil {
		return err
	}
	return out.result(protocol.ExecResult{ExitCode: n.code, StderrBytes: total})
}

// wait lasts until the command has ended, by itself or at its timeout. The end
// of ctx kills it, too, and is an error. The count of OOM kills is watched until
// unattended is closed: from then on nothing is done as long as nothing happens.
func (e *execution) wait(ctx context.Context, unattended <-chan struct{}) error {
	var timeout <-chan time.Time
	if e.params.Timeout > 0 {
		timer := time.NewTimer(time.Until(e.began.Add(e.params.Timeout)))
		defer timer.Stop()
		timeout = timer.C
	}
	look := time.NewTicker(oomLook)
	defer look.Stop()
	for {
		select {
		case <-e.process.ended:
			e.leaderEnded()
			return nil
		case <-look.C:
			e.guest.oom.look()
		case <-unattended:
			unattended = nil
			look.Stop()
		case <-timeout:
			if e.process.hasEnded() {
				timeout = nil
				continue
			}
			e.timedOut = true
			e.kill()
			return nil
		case <-ctx.Done():
			e.killed = true
			e.kill()
			return ctx.Err()
		}
	}
}

// leaderEnded notes what must be noted at once when the command has ended.
func (e *execution) leaderEnded() {
	timeout := never
	if e.params.Timeout > 0 {
		timeout = e.began.Add(e.params.Timeout)
	}
	e.guest.leftovers.add(e.process, timeout)
	code, _ := e.status()
	if e.shot.Load() {
		code = 0 // the SIGKILL that it may have died of says nothing
	}
	e.oomKilled = e.guest.oom.blames(e.kills, e.process, code)
}

// kill ends the command and all it started, and waits a little for its status.
// A leader stuck inside the kernel is reported as killed all the same.
func (e *execution) kill() {
	deadline := time.Now().Add(killPatience)
	e.guest.killTree(e.process, deadline)
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-e.process.ended:
	case <-timer.C:
	}
}

// abandon lets go of the output: the readers go on into nothing.
func (e *execution) abandon() {
	for _, o := range e.outlets {
		o.abandon()
	}
}

// drain delivers what is left of the output and makes the result.
func (e *execution) drain() (result protocol.ExecResult, err error) {
	for _, o := range e.outlets {
		o.leaderEnded()
	}
	totals := map[protocol.Stream]int64{}
	for _, o := range e.outlets {
		err = errors.Join(err, <-o.drained)
		totals[o.stream] = o.total.Load()
	}
	result = protocol.ExecResult{
		TimedOut:    e.timedOut,
		OOMKilled:   e.oomKilled,
		StdoutBytes: totals[protocol.Stdout],
		StderrBytes: totals[protocol.Stderr],
		Duration:    time.Since(e.began),
	}
	result.ExitCode, result.Signal = e.status()
	return result, err
}

// status is the exit code in a shell's terms, and the name of the signal.
func (e *execution) status() (code int, signal string) {
	if e.timedOut || e.killed && !e.process.hasEnded() {
		return 128 + int(unix.SIGKILL), "SIGKILL"
	}
	s := e.process.status
	if !s.Signaled() {
		return s.ExitStatus(), ""
	}
	return 128 + int(s.Signal()), signalName(s.Signal())
}
