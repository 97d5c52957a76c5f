package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// busy is a stdio process under load: it is asked to leave one mark after the
// other in a file.
type busy struct {
	*raw
	number int
	quit   atomic.Bool
	done   chan struct{}
	sent   int
	err    error
	good   []string // marks that were left, by the answers
}

const atOnce = 4

func makeBusy(r *raw, number int, box schemas.SandboxID) *busy {
	b := &busy{raw: r, number: number, done: make(chan struct{})}
	go b.work(box)
	return b
}

func (b *busy) mark(i int) string { return fmt.Sprintf("m-%d-%d-", b.number, i) }

// work keeps some calls under way until it is told to end, and looks at each
// answer. A dead process ends it as well.
func (b *busy) work(box schemas.SandboxID) {
	defer close(b.done)
	for !b.quit.Load() {
		from := b.sent
		for range atOnce {
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"exec","arguments":{"sandbox_id":%q,"command":"echo %s >> marks"}}}`, b.sent, box, b.mark(b.sent))
			if _, err := fmt.Fprintln(b.Stdin, line); err != nil {
				return // it was killed
			}
			b.sent++
		}
		for i := from; i < b.sent; i++ {
			if !b.look(i) {
				return
			}
		}
	}
}

// look waits for the answer to a call.
func (b *busy) look(i int) bool {
	id := fmt.Sprintf("%q", itoa(i))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if all := b.answers(id); len(all) > 0 {
			var got schemas.ExecResult
			if _, ok := all[0].retryable(); ok {
				return true
			}
			if isError, err := all[0].structured(&got); isError || err != nil || got.ExitCode != 0 {
				b.err = fmt.Errorf("call %d: %s %+v", i, all[0].Result, all[0].Error)
				return false
			}
			b.good = append(b.good, b.mark(i))
			return true
		}
		if !b.Running() {
			return false
		}
		if time.Now().After(deadline) {
			b.err = fmt.Errorf("call %d was not answered", i)
			return false
		}
	}
}

// manyTakeovers: the holder is killed again and again while the others work.
func manyTakeovers(t *testing.T) {
	s := quiet(t)
	var all []*busy
	var box schemas.SandboxID
	join := func() {
		r := s.join(1)[0]
		if box == "" {
			box = r.create()
		}
		all = append(all, makeBusy(r, len(all), box))
	}
	for range 5 {
		join()
	}
	for round := range 20 {
		time.Sleep(time.Duration(round*7%40) * 10 * time.Millisecond) // another moment each time
		holder := s.holder()
		killed := false
		for _, b := range all {
			if b.Running() && itoa(b.Pid()) == holder {
				b.Kill()
				<-b.done
				killed = true
			}
		}
		if !killed {
			t.Fatalf("round %d: %s holds the directory and is none of ours", round, holder)
		}
		eventually(t, 10*time.Second, "another takes over", func() (bool, any) { return s.holder() != holder, s.holder() })
		join()
	}
	var g sync.WaitGroup
	for _, b := range all {
		b.quit.Store(true)
		g.Go(func() { <-b.done })
	}
	g.Wait()
	s.up()
	marks := map[string]int{}
	for _, m := range strings.Fields((&sandbox{s, schemas.Sandbox{ID: box}}).must("cat marks", args{"max_output_bytes": 200_000})) {
		marks[m]++
	}
	sent, good := 0, 0
	for _, b := range all {
		if b.err != nil {
			t.Errorf("process %d (%d): %v\n%s", b.number, b.Pid(), b.err, tail(b.Log()))
		}
		for i := range b.sent {
			if n := len(b.answers(fmt.Sprintf("%q", itoa(i)))); n > 1 || n == 0 && b.Running() {
				t.Errorf("process %d: call %d was answered %d times", b.number, i, n)
			}
			if n := marks[b.mark(i)]; n > 1 {
				t.Errorf("process %d: command %d ran %d times", b.number, i, n)
			}
		}
		for _, m := range b.good {
			if marks[m] != 1 {
				t.Errorf("process %d: %s ran %d times, by the answer once", b.number, m, marks[m])
			}
		}
		sent, good = sent+b.sent, good+len(b.good)
	}
	if list := s.list(); len(list) != 1 {
		t.Errorf("there are %+v", list)
	}
	t.Logf("%d calls, %d answered with success, %d ran", sent, good, len(marks))
}

// twoDirectories: servers of two data directories on one daemon, each with its
// deaths, takeovers and restarts, find their own things and no more.
func twoDirectories(t *testing.T) {
	for _, name := range []string{"one", "the other"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ownDirectory(t)
		})
	}
}

func ownDirectory(t *testing.T) {
	s, all := crowd(t, 2)
	box := all[0].create()
	all[0].stdout(1, box, "echo kept > f")
	for round := range 6 {
		holder := s.holder()
		for _, r := range all {
			if itoa(r.Pid()) == holder || round%3 == 2 { // now and then all of them
				r.Kill()
			}
		}
		var left []*raw
		for _, r := range all {
			if r.Running() {
				left = append(left, r)
			}
		}
		all = append(left, s.join(2-len(left))...)
		r := all[0]
		if out := r.stdout(100*round, box, "cat f"); out != "kept\n" {
			t.Errorf("round %d: got %q", round, out)
		}
		r.tool(100*round+1, "sandbox_create", args{}, nil)
		var extra schemas.Sandbox
		if _, err := r.answer(itoa(100*round + 1)).structured(&extra); err != nil || extra.ID == "" {
			t.Fatalf("round %d: %s, %v", round, r.answer(itoa(100*round+1)).Result, err)
		}
		r.tool(100*round+2, "sandbox_list", args{}, nil)
		var list schemas.SandboxList
		if _, err := r.answer(itoa(100*round + 2)).structured(&list); err != nil || len(list.Sandboxes) != 2 || list.Sandboxes[0].ID != box || list.Sandboxes[1].ID != extra.ID {
			t.Errorf("round %d: there are %+v, %v", round, list, err)
		}
		if c, v := s.containers(), s.volumes(); len(c) != 2 || len(v) != 2 {
			t.Errorf("round %d: containers %v, volumes %v", round, c, v)
		}
		r.tool(100*round+3, "sandbox_destroy", args{"sandbox_id": extra.ID}, nil)
		if isError, err := r.answer(itoa(100*round + 3)).structured(nil); isError || err != nil {
			t.Errorf("round %d: %s", round, r.answer(itoa(100*round+3)).Result)
		}
	}
}
