//go:build linux

package guest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

func newExecID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return "ex_" + hex.EncodeToString(b)
}

// background starts a command that goes on by itself.
func (m *machine) background(c *client.Client, cmd command, change ...func(*protocol.StartParams)) (id string) {
	m.t.Helper()
	params := protocol.StartParams{ExecParams: m.params(cmd), ID: newExecID()}
	for _, f := range change {
		f(&params)
	}
	result, err := c.Start(m.t.Context(), params, cmd.stdin, func(protocol.Stream, []byte) error { return nil })
	if err != nil || !result.Running {
		m.t.Fatalf("start %q: %+v, %v", cmd.sh+strings.Join(cmd.argv, " "), result, err)
	}
	return params.ID
}

func withInput(p *protocol.StartParams) { p.Input = true }

// poll reads what there is, and fails the test on any error.
func (m *machine) poll(c *client.Client, params protocol.PollParams) (protocol.ExecState, outcome) {
	m.t.Helper()
	var out [3]bytes.Buffer
	state, err := c.Poll(m.t.Context(), params, func(s protocol.Stream, chunk []byte) error {
		out[s].Write(chunk)
		return nil
	})
	if err != nil {
		m.t.Fatalf("poll %+v: %v", params, err)
	}
	return state, outcome{state.Result, out[protocol.Stdout].String(), out[protocol.Stderr].String()}
}

// follow reads what is kept, and then up to the end.
func (m *machine) follow(c *client.Client, id string) outcome {
	m.t.Helper()
	_, o := m.poll(c, protocol.PollParams{ID: id, Follow: true})
	return o
}

func (m *machine) input(c *client.Client, id, text string, end bool) {
	m.t.Helper()
	taken, err := c.Input(m.t.Context(), id, strings.NewReader(text), end)
	if err != nil || taken != int64(len(text)) {
		m.t.Errorf("input: took %d of %d, %v", taken, len(text), err)
	}
}

func (m *machine) killJob(c *client.Client, id string) {
	m.t.Helper()
	if err := c.Kill(m.t.Context(), protocol.KillParams{ID: id}); err != nil {
		m.t.Errorf("kill: %v", err)
	}
}

// An input that waits for its command ends with its call, and how much was taken
// is exact.
func TestInputThatIsGivenUp(t *testing.T) {
	m, c := newGuest(t)
	for range 20 {
		id := m.background(c, command{sh: "until [ -e go ]; do sleep 0.01; done; rm go; cat > got"}, withInput)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		data := random(1 << 20)
		taken, err := c.Input(ctx, id, bytes.NewReader(data), false)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("took %d, %v", taken, err)
		}
		m.sh(c, "touch go")
		rest, err := c.Input(t.Context(), id, bytes.NewReader(data[taken:]), true)
		if err != nil || taken+rest != int64(len(data)) {
			t.Fatalf("took %d and %d of %d, %v", taken, rest, len(data), err)
		}
		m.follow(c, id)
		if got := m.sh(c, "cat got").stdout; got != string(data) {
			t.Fatalf("got %d bytes, or others", len(got))
		}
	}
}

func onTerminal(columns, rows uint16) func(*protocol.StartParams) {
	return func(p *protocol.StartParams) { p.Terminal = &protocol.WindowSize{Columns: columns, Rows: rows} }
}
