//go:build linux

package guest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// writing is a command that writes pieces of all sizes to both streams, some of
// which can be packed, and now and then waits in between.
type writing struct {
	seed   uint64
	r      *rand.Rand
	script string
	want   [2][]byte // standard output and error
	got    [2]bytes.Buffer
}

func newWriting(m *machine, seed uint64) *writing {
	w := &writing{seed: seed, r: rand.New(rand.NewPCG(seed, 0))}
	var script strings.Builder
	for range 1 + w.r.IntN(10) {
		stream := w.r.IntN(2)
		begin := len(w.want[stream])
		for range 1 + w.r.IntN(6) { // right behind each other
			size := []int{1, 500, 2047, 2049, 8192, 30_000, 65_536, 200_000}[w.r.IntN(8)]
			piece := bytes.Repeat(fmt.Appendf(nil, "line %d\n", w.r.IntN(1000)), size/7+1)[:size]
			if w.r.IntN(3) == 0 {
				piece = random(size)
			}
			w.want[stream] = append(w.want[stream], piece...)
		}
		fmt.Fprintf(&script, "tail -c +%d all.%d.%d | head -c %d >&%d\n", begin+1, seed, stream, len(w.want[stream])-begin, 1+stream)
		if w.r.IntN(5) == 0 {
			script.WriteString("sleep 0.00" + fmt.Sprint(w.r.IntN(10)) + "\n")
		}
	}
	if w.r.IntN(3) == 0 {
		script.WriteString("sleep 20 &\n") // which holds the streams
	}
	for stream, content := range w.want {
		check(m.t, os.WriteFile(m.file(fmt.Sprintf("all.%d.%d", seed, stream)), content, 0o644))
	}
	w.script = script.String()
	return w
}

func (w *writing) emit(s protocol.Stream, chunk []byte) error {
	w.got[s-protocol.Stdout].Write(chunk)
	if w.r.IntN(20) == 0 { // a slow reader
		time.Sleep(time.Duration(w.r.IntN(5)) * time.Millisecond)
	}
	return nil
}

// check holds what came against what was written, and what is said to have been.
func (w *writing) check(t *testing.T, way string, result protocol.ExecResult, most int64, err error) {
	for i, told := range []int64{result.StdoutBytes, result.StderrBytes} {
		want := w.want[i][:min(int64(len(w.want[i])), most)]
		if got := w.got[i].Bytes(); err != nil || told != int64(len(w.want[i])) || !bytes.Equal(got, want) {
			t.Errorf("seed %d, %s, stream %d: got %d bytes of %d, told %d of %d, %v", w.seed, way, i+1, len(got), len(want), told, len(w.want[i]), err)
		}
	}
}

// Output is whole and in order, whatever it is like and however it is taken: to
// the end, up to a cap, or handed over in the middle and then followed or polled.
func TestOutputOfAllKindsIsWhole(t *testing.T) {
	m, c := newGuest(t)
	for range 40 {
		w := newWriting(m, rand.Uint64N(1<<32))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		w.take(t, ctx, m, c)
		cancel()
		m.sh(c, "pkill sleep; rm all.*")
	}
}

func (w *writing) take(t *testing.T, ctx context.Context, m *machine, c *client.Client) {
	cmd := command{sh: w.script}
	most := int64(1 << 40)
	if w.r.IntN(2) == 0 {
		if w.r.IntN(2) == 0 {
			most = int64(1 + w.r.IntN(400_000))
			cmd.max = most
		}
		result, err := c.Exec(ctx, m.params(cmd), nil, w.emit)
		w.check(t, "exec", result, most, err)
		return
	}
	params := protocol.StartParams{ExecParams: m.params(cmd), ID: newExecID(), Wait: time.Duration(1+w.r.IntN(60)) * time.Millisecond}
	result, err := c.Start(ctx, params, nil, w.emit)
	if err != nil || !result.Running {
		w.check(t, "start", result, most, err)
		return
	}
	if result.StdoutBytes != int64(w.got[0].Len()) || result.StderrBytes != int64(w.got[1].Len()) {
		t.Errorf("seed %d: handed over after %d and %d bytes, told %+v", w.seed, w.got[0].Len(), w.got[1].Len(), result)
	}
	poll := protocol.PollParams{ID: params.ID, Follow: w.r.IntN(2) == 0, MaxBytes: -1, Wait: time.Second}
	if !poll.Follow {
		poll.MaxBytes = int64(1 + w.r.IntN(300_000))
	}
	for {
		poll.Stdout, poll.Stderr = int64(w.got[0].Len()), int64(w.got[1].Len())
		state, err := c.Poll(ctx, poll, w.emit)
		ended := !state.Result.Running && state.Result.StdoutBytes <= int64(w.got[0].Len()) && state.Result.StderrBytes <= int64(w.got[1].Len())
		if err != nil || ended {
			w.check(t, "polls", state.Result, most, err)
			return
		}
	}
}
