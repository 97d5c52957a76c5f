package guest

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// listJobs serves PathExecs.
func (g *guest) listJobs(w http.ResponseWriter, _ *http.Request) error {
	for _, j := range g.jobs.all() {
		if _, err := io.WriteString(w, asciiJSON(j.state())+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// poll serves PathPoll.
func (g *guest) poll(w http.ResponseWriter, r *http.Request) error {
	var params protocol.PollParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	j, err := g.jobs.find(params.ID)
	if err != nil {
		return err
	}
	for _, s := range []slots{j.pollers, g.polls} {
		if err := s.try(); err != nil {
			return err
		}
		defer s.release()
	}
	reader, err := j.tape.open([2]int64{params.Stdout, params.Stderr}, params.Follow)
	if err != nil {
		return err
	}
	defer reader.close()
	if params.Follow {
		j.followed()
	}
	out := newFrameWriter(w, params.Packs)
	defer out.close()
	if params.Follow {
		_, err = reader.follow(r.Context(), out, nil)
	} else {
		err = reader.once(r.Context(), params, out)
	}
	if err != nil {
		return err
	}
	state := j.state()
	if j.tape.isErased() {
		return unknownExec(params.ID)
	}
	state.Stdout, state.Stderr = reader.began[0], reader.began[1]
	return out.result(state)
}

// once sends what there is, after waiting for some.
func (r *reader) once(ctx context.Context, params protocol.PollParams, out *frameWriter) error {
	if err := r.await(ctx, params.Wait); err != nil {
		return err
	}
	r.limit(params.MaxBytes)
	for {
		if sent, err := r.send(out); err != nil || !sent {
			return err
		}
	}
}

// await waits for something to read, for the end, or until patience has run out.
func (r *reader) await(ctx context.Context, patience time.Duration) error {
	var enough <-chan time.Time
	for {
		some, last, news := r.look()
		if some || last || patience <= 0 {
			return nil
		}
		if enough == nil {
			timer := time.NewTimer(patience)
			defer timer.Stop()
			enough = timer.C
		}
		select {
		case <-news:
		case <-enough:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
