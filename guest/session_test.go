//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// A server that is killed at a random moment, with floods going both ways, can
// attach again at once; what the old session ran is gone.
func TestReattachUnderFlood(t *testing.T) {
	m := startMachine(t)
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	var slowest time.Duration
	for range rounds {
		w := m.attach()
		began := time.Now()
		c, err := client.Dial(t.Context(), w, m.key)
		check(t, err)
		m.run(c, command{argv: []string{"echo", "there"}}).expect(t, 0, "there\n", "")
		slowest = max(slowest, time.Since(began))
		m.flood(c)
		time.Sleep(rand.N(30 * time.Millisecond))
		w.Close() // no goodbye: both directions stop in the middle of a frame
	}
	m.dial()
	m.nothingLeft()
	t.Logf("from attach to the first result: at most %v", slowest)
}

// flood keeps both directions full until the channel dies.
func (m *machine) flood(c *client.Client) {
	ignore := func(protocol.Stream, []byte) error { return nil }
	for range 2 {
		go c.Exec(context.Background(), m.params(command{argv: []string{"yes"}}), nil, ignore)
		go c.Exec(context.Background(), m.params(command{argv: []string{"cat"}, stdin: endless{}}), endless{}, ignore)
		go c.Write(context.Background(), protocol.WriteParams{Path: []byte("/workspace/flood"), MaxBytes: 1 << 40}, endless{})
	}
}

// A server that crashes while nobody reads leaves its output in the pipe, and a
// guest that cannot go on writing; the next one gets through all the same.
func TestReattachAfterSilence(t *testing.T) {
	m := startMachine(t)
	for range 3 {
		w := m.attach()
		c, err := client.Dial(t.Context(), w, m.key)
		check(t, err)
		started := make(chan bool)
		go c.Exec(context.Background(), m.params(command{argv: []string{"yes"}}), nil, func(protocol.Stream, []byte) error {
			select {
			case started <- true:
			default:
			}
			time.Sleep(time.Hour) // the window fills
			return nil
		})
		<-started
		time.Sleep(50 * time.Millisecond)
		w.Close()
	}
	m.sh(m.dial(), "echo ok").expect(t, 0, "ok\n", "")
	m.nothingLeft()
}

// A server that crashes in the middle of its greeting: after the first key the
// next one gets through; within it, the guest is lost, and Dial says so.
func TestTornGreeting(t *testing.T) {
	for _, size := range []int{0, 1, 31, 32, 33, 48, 63, 64, 70, 79, 80} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			m := startMachine(t)
			torn := protocol.Greeting(m.key, protocol.Nonce{1, 2, 3})[:size]
			_, err := m.in.Write(torn)
			check(t, err)
			lost, patience := size > 0 && size < protocol.KeySize, time.Minute
			if lost {
				patience = 500 * time.Millisecond // for an answer that cannot come
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c, err := client.Dial(ctx, m.attach(), m.key)
			if lost != errors.Is(err, client.ErrHandshake) {
				t.Fatalf("got %v", err)
			} else if lost {
				return
			}
			check(t, err)
			m.sh(c, "echo ok").expect(t, 0, "ok\n", "")
		})
	}
}

// Another key, as of another container, is not answered.
func TestWrongKey(t *testing.T) {
	m, _ := newGuest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := client.Dial(ctx, m.attach(), protocol.Key{1})
	if !errors.Is(err, client.ErrHandshake) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// A program that prints what looks like an answer, or is given what looks like
// a greeting with another key, disturbs nothing.
func TestLookAlikesInTheStream(t *testing.T) {
	m, c := newGuest(t)
	fake := string(protocol.Greeting(protocol.Key{7}, protocol.Nonce{8}))
	o := m.run(c, command{argv: []string{"cat"}, stdin: strings.NewReader(fake)})
	o.expect(t, 0, fake, "")
}

// When the guest dies every call ends at once, and says that it was cut short.
func TestGuestDies(t *testing.T) {
	m, c := newGuest(t)
	check(t, m.write(c, "big", io.LimitReader(endless{}, 8<<20)))
	_, content, err := c.Read(t.Context(), protocol.ReadParams{Path: []byte("/workspace/big"), Length: -1})
	check(t, err)
	defer content.Close()
	started := make(chan bool, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.Background(), m.params(command{sh: "echo; sleep 60"}), nil, func(protocol.Stream, []byte) error {
			started <- true
			return nil
		})
		ended <- err
	}()
	<-started
	m.cmd.Process.Kill()
	select {
	case err := <-ended:
		if !errors.Is(err, client.ErrLost) {
			t.Errorf("exec: got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("exec hangs")
	}
	if _, err := io.ReadAll(content); !errors.Is(err, client.ErrLost) {
		t.Errorf("read: got %v", err)
	}
	if _, err := c.Hello(t.Context()); !errors.Is(err, client.ErrLost) {
		t.Errorf("hello: got %v", err)
	}
}

func TestHello(t *testing.T) {
	_, c := newGuest(t)
	h, err := c.Hello(t.Context())
	if err != nil || h.Version != protocol.Version || time.Since(h.Started) > time.Minute || h.Execs != 0 {
		t.Errorf("got %+v, %v", h, err)
	}
}

// E2: output without end does not grow the guest, capped or not.
func TestE2MemoryIsFlat(t *testing.T) {
	m, c := newGuest(t)
	m.sh(c, "true")
	idle := m.anonymous()
	m.run(c, command{argv: []string{"yes"}, timeout: time.Second, max: 1 << 20})
	m.run(c, command{argv: []string{"yes"}, stdin: endless{}, timeout: time.Second})
	busy := m.anonymous()
	t.Logf("anonymous memory: %d KiB idle, %d KiB after", idle>>10, busy>>10)
	if busy > 16<<20 && !raceEnabled {
		t.Errorf("the guest has grown from %d to %d bytes", idle, busy)
	}
}

// anonymous is the guest's memory that no file backs.
func (m *machine) anonymous() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.cmd.Process.Pid))
	check(m.t, err)
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	check(m.t, err)
	return kib << 10
}
