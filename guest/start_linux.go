package guest

import (
	"net/http"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// start serves PathStart: it runs a command, and stays with it for a while.
func (g *guest) start(w http.ResponseWriter, r *http.Request) error {
	var params protocol.StartParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	if err := checkStart(params); err != nil {
		return err
	}
	if err := g.execs.try(); err != nil {
		return err
	}
	defer g.execs.release()
	if err := g.jobs.reserve(params.ID); err != nil {
		return err
	}
	handedOver := false
	defer func() {
		if !handedOver {
			g.jobs.forget(params.ID)
		}
	}()
	out := newFrameWriter(w, params.Packs)
	defer out.close()
	j, whole, err := g.newJob(r.Context(), params)
	if err != nil {
		return tellNotRun(err, params.ExecParams, out)
	}
	g.jobs.add(j)
	handedOver, err = j.attend(r, params, whole, out)
	return err
}

func checkStart(params protocol.StartParams) error {
	refuse := func(message string) error { return &protocol.Error{Code: protocol.ErrInvalid, Message: message} }
	switch {
	case len(params.Argv) == 0:
		return refuse("argv is empty")
	case !protocol.ValidExecID(params.ID):
		return refuse("not the ID of a background exec")
	case params.Terminal != nil && !params.Terminal.Valid():
		return errWindow
	}
	return nil
}

// attend stays with a job until it ends, which is where an exec without a
// background has its end, too; or until its time has passed, when the job is
// handed over. If neither happens it is killed.
func (j *job) attend(r *http.Request, params protocol.StartParams, whole *reader, out *frameWriter) (handedOver bool, err error) {
	defer func() {
		whole.close()
		if !handedOver {
			j.cancel()
			<-j.halted
			j.followed()
		} else if j.first != nil {
			time.AfterFunc(firstFollow, j.followed)
		}
	}()
	whole.room = [2]int64{params.MaxStdout, params.MaxStderr}
	ready, stop := j.handOver(r, params.Wait)
	defer stop()
	if params.Wait > 0 || j.kept != nil {
		ended, err := whole.follow(r.Context(), out, ready)
		if err != nil {
			return false, err
		}
		if ended && params.Wait > 0 {
			return false, out.result(j.tape.outcome())
		}
	}
	stop()
	j.tape.grow()
	whole.close()
	j.guest.jobs.list(j)
	close(j.unattended)
	err = out.result(protocol.ExecResult{
		Running: true, StdoutBytes: whole.at[0], StderrBytes: whole.at[1], Duration: time.Since(j.run.began),
	})
	if err == nil {
		err = out.sendAll() // now the caller has the answer, or the job has nobody
	}
	return err == nil, err
}

// handOver gives a channel that is closed when the job may be left to itself:
// its time has passed, and its input is here.
func (j *job) handOver(r *http.Request, wait time.Duration) (ready chan struct{}, stop func() bool) {
	ready = make(chan struct{})
	if j.kept != nil {
		go j.kept.take(r.Body)
		go j.kept.feed(j.stdin, j.halted)
	} else if wait <= 0 {
		close(ready)
		return ready, func() bool { return false }
	}
	timer := time.AfterFunc(max(0, wait), func() {
		if j.kept != nil {
			j.kept.tape.grow()
			select {
			case <-j.kept.tape.done:
			case <-r.Context().Done():
				return
			}
		}
		close(ready)
	})
	return ready, timer.Stop
}
