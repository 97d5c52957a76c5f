//go:build linux

package guest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// A ring keeps exactly the last bytes, whatever the sizes of what is put in, and
// loses nothing when it grows.
func TestRing(t *testing.T) {
	for range 200 {
		memory := make([]byte, 1+rand.IntN(100))
		r := ring{data: memory[:1+rand.IntN(len(memory))]}
		var all []byte
		for range 50 {
			p := random(rand.IntN(2 * len(memory)))
			r.put(p)
			all = append(all, p...)
			if rand.IntN(20) == 0 {
				kept := all[r.oldest():]
				r.grow(memory)
				if got := make([]byte, len(kept)); r.get(got, r.total-int64(len(kept))) != len(kept) || !bytes.Equal(got, kept) {
					t.Fatalf("grown: %q, want %q", got, kept)
				}
			}
			from := r.oldest() + rand.Int64N(r.total-r.oldest()+1)
			got := make([]byte, rand.IntN(2*len(memory)))
			got = got[:r.get(got, from)]
			if r.total != int64(len(all)) || !bytes.HasPrefix(all[from:], got) {
				t.Fatalf("from %d of %d: %q", from, r.total, got)
			}
		}
	}
}

func TestRingSizes(t *testing.T) {
	for memory, want := range map[int64]int{0: 1 << 20, 16 << 20: 32 << 10, 128 << 20: 256 << 10, 512 << 20: 1 << 20, 4 << 30: 1 << 20} {
		if got := ringSize(memory); got != want || got%os.Getpagesize() != 0 {
			t.Errorf("%d MiB: %d", memory>>20, got)
		}
	}
}

func TestWindows(t *testing.T) {
	for memory, want := range map[int64]int{0: 256 << 10, 16 << 20: 64 << 10, 128 << 20: 170 << 10, 512 << 20: 256 << 10, 4 << 30: 256 << 10} {
		stream, conn := windows(memory)
		if stream>>10 != want>>10 || conn < (maxExecs+protocol.MaxBackground+8)*stream || memory >= 64<<20 && int64(conn) > memory/8 {
			t.Errorf("%d MiB: %d, %d in all", memory>>20, stream, conn)
		}
	}
}

// Readers that hold get everything, those that do not are never waited for, and
// all of them come to an end: with the tape's, when it is erased, or when they go.
func TestTapeReaders(t *testing.T) {
	tape, err := newTape(2, 4096)
	check(t, err)
	defer tape.erase()
	const size = 1 << 20
	data := random(size)
	var all sync.WaitGroup
	for i := range 4 {
		r, err := tape.open([2]int64{}, true)
		check(t, err)
		all.Go(func() {
			defer r.close()
			var got []byte
			buf := make([]byte, 1+rand.IntN(5000))
			for {
				some, last, news := r.look()
				if some {
					n := r.read(0, buf)
					got = append(got, buf[:n]...)
					r.pass(0, n)
					if i == 3 && len(got) > size/2 {
						return // one that goes away
					}
					continue
				}
				if last {
					break
				}
				<-news
			}
			if !bytes.Equal(got, data) {
				t.Errorf("got %d bytes of %d, or others", len(got), size)
			}
		})
	}
	bystander, err := tape.open([2]int64{}, false)
	check(t, err)
	for p := data; len(p) > 0; {
		n := min(len(p), 1+rand.IntN(9000))
		check(t, tape.put(0, p[:n]))
		p = p[n:]
	}
	tape.end(protocol.ExecResult{})
	all.Wait()
	buf := make([]byte, 1<<20)
	if n := bystander.read(0, buf); n != 4096 || bystander.began[0] != size-4096 || !bytes.Equal(buf[:n], data[size-4096:]) {
		t.Errorf("the bystander got %d bytes from %d", n, bystander.began[0])
	}
}

// What waits for room when a tape is erased goes on, into nothing.
func TestTapeErasedUnderAWriter(t *testing.T) {
	tape, err := newTape(1, 4096)
	check(t, err)
	r, err := tape.open([2]int64{}, true)
	check(t, err)
	defer r.close()
	written := make(chan error)
	go func() { written <- tape.put(0, make([]byte, 1<<20)) }()
	eventually(t, 30*time.Second, "a full tape", func() (any, bool) {
		total := tape.outcome().StdoutBytes
		return total, total == 4096
	})
	tape.erase()
	tape.erase()
	if err := <-written; err != errErased {
		t.Errorf("got %v", err)
	}
	if _, last, _ := r.look(); !last || r.read(0, make([]byte, 10)) != 0 || !isClosed(tape.done) {
		t.Error("readers find no end")
	}
}
