package guest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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

	e := &execution{guest: g, params: params, out: newFrameWriter(w), began: time.Now()}
	e.kills, _ = g.oom.look()
	defer e.out.close()
	result, err := e.run(r)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return e.out.write(protocol.Result, append(make([]byte, protocol.FrameHeaderSize), text...))
}

// execution is one command on its way.
type execution struct {
	guest  *guest
	params protocol.ExecParams
	out    *frameWriter
	began  time.Time
	kills  int64 // OOM kills in the sandbox before

	process        *process
	stdout, stderr *outlet
	timedOut       bool
	oomKilled      bool
}

func (e *execution) run(r *http.Request) (result protocol.ExecResult, err error) {
	streams, err := openStreams(e.params.HasStdin)
	if err != nil {
		return result, err
	}
	if err := e.start(r.Context(), streams); err != nil {
		kernel.Lock()
		streams.closeAll()
		kernel.Unlock()
		return e.explain(err)
	}
	streams.closeChildEnds()
	e.stdout = newOutlet(streams.stdout, protocol.Stdout, e.params.MaxStdout, e.out)
	e.stderr = newOutlet(streams.stderr, protocol.Stderr, e.params.MaxStderr, e.out)
	if streams.stdin != nil {
		go feed(streams.stdin, r.Body)
		defer streams.stdin.close()
	}
	if err := e.wait(r.Context()); err != nil {
		e.abandon()
		return result, err
	}
	return e.drain()
}

// start starts the command, unless a snapshot holds the sandbox still.
func (e *execution) start(ctx context.Context, s *streams) error {
	leave, err := e.guest.gate.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	e.began = time.Now()
	l := launch{argv: e.params.Argv, env: e.params.Env, dir: string(e.params.Dir), files: s.child}
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

// explain turns a command that could not be run into what a shell makes of it.
func (e *execution) explain(err error) (protocol.ExecResult, error) {
	var n *notRun
	if !errors.As(err, &n) {
		return protocol.ExecResult{}, err
	}
	text := []byte(n.message + "\n")
	total := int64(len(text))
	if limit := e.params.MaxStderr; limit >= 0 {
		text = text[:min(total, limit)]
	}
	err = e.out.write(protocol.Stderr, append(make([]byte, protocol.FrameHeaderSize), text...))
	return protocol.ExecResult{ExitCode: n.code, StderrBytes: total, Duration: time.Since(e.began)}, err
}

// wait lasts until the command has ended, by itself or at its timeout. The
// caller going away kills it, too, and is an error.
func (e *execution) wait(ctx context.Context) error {
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
		case <-timeout:
			if e.process.hasEnded() {
				timeout = nil
				continue
			}
			e.timedOut = true
			e.kill()
			return nil
		case <-ctx.Done():
			e.kill()
			return ctx.Err()
		}
	}
}

// leaderEnded notes what must be noted at once when the command has ended.
func (e *execution) leaderEnded() {
	if e.params.Timeout > 0 {
		e.guest.leftovers.add(e.process, e.began.Add(e.params.Timeout))
	}
	code, _ := e.status()
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
	e.stdout.abandon()
	e.stderr.abandon()
}

// drain delivers what is left of the output and makes the result.
func (e *execution) drain() (result protocol.ExecResult, err error) {
	e.stdout.leaderEnded()
	e.stderr.leaderEnded()
	err = errors.Join(<-e.stdout.drained, <-e.stderr.drained)
	result = protocol.ExecResult{
		TimedOut:    e.timedOut,
		StdoutBytes: e.stdout.total.Load(),
		StderrBytes: e.stderr.total.Load(),
		Duration:    time.Since(e.began),
	}
	result.ExitCode, result.Signal = e.status()
	result.OOMKilled = e.oomKilled
	return result, err
}

// status is the exit code in a shell's terms, and the name of the signal.
func (e *execution) status() (code int, signal string) {
	if e.timedOut {
		return 128 + int(unix.SIGKILL), "SIGKILL"
	}
	s := e.process.status
	if !s.Signaled() {
		return s.ExitStatus(), ""
	}
	return 128 + int(s.Signal()), signalName(s.Signal())
}
