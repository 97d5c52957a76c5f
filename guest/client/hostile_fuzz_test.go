package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// everyCall is all that a guest can be asked. Each checks what it believed.
var everyCall = []struct {
	path string
	make func(context.Context, *Client) error
}{
	{protocol.PathHello, func(ctx context.Context, c *Client) error { _, err := c.Hello(ctx); return err }},
	{protocol.PathDeadline, func(ctx context.Context, c *Client) error { return c.SetDeadline(ctx, time.Second) }},
	{protocol.PathRead, func(ctx context.Context, c *Client) error {
		info, content, err := c.Read(ctx, protocol.ReadParams{Path: []byte("a")})
		if err != nil {
			return err
		}
		defer content.Close()
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		return sane(info)
	}},
	{protocol.PathWrite, func(ctx context.Context, c *Client) error {
		info, err := c.Write(ctx, protocol.WriteParams{Path: []byte("a")}, strings.NewReader("content"))
		return after(err, sane(info))
	}},
	{protocol.PathStat, func(ctx context.Context, c *Client) error {
		info, err := c.Stat(ctx, protocol.StatParams{Path: []byte("a")})
		return after(err, sane(info))
	}},
	{protocol.PathList, func(ctx context.Context, c *Client) error {
		page, err := c.List(ctx, protocol.ListParams{Path: []byte("a"), Limit: 5})
		if len(page.Entries) > 5 && err == nil {
			return fmt.Errorf("%d entries", len(page.Entries))
		}
		return after(err, sane(page.Entries...))
	}},
	{protocol.PathMkdir, func(ctx context.Context, c *Client) error {
		info, err := c.Mkdir(ctx, protocol.MkdirParams{Path: []byte("a")})
		return after(err, sane(info))
	}},
	{protocol.PathMove, func(ctx context.Context, c *Client) error {
		info, err := c.Move(ctx, protocol.MoveParams{})
		return after(err, sane(info))
	}},
	{protocol.PathDelete, func(ctx context.Context, c *Client) error { return c.Delete(ctx, protocol.DeleteParams{}) }},
	{protocol.PathPack, func(ctx context.Context, c *Client) error {
		stats, err := c.Pack(ctx, protocol.PackParams{}, io.Discard)
		return after(err, counted(stats))
	}},
	{protocol.PathUnpack, func(ctx context.Context, c *Client) error {
		stats, err := c.Unpack(ctx, protocol.UnpackParams{}, strings.NewReader("no tar"))
		return after(err, counted(stats))
	}},
	{protocol.PathExec, func(ctx context.Context, c *Client) error {
		got := &count{}
		result, err := c.Exec(ctx, protocol.ExecParams{MaxStdout: 10, MaxStderr: 10}, nil, got.emit)
		return after(err, got.ended(result))
	}},
	{protocol.PathStart, func(ctx context.Context, c *Client) error {
		got := &count{}
		params := protocol.StartParams{ID: someExec, ExecParams: protocol.ExecParams{MaxStdout: 10, MaxStderr: 10, HasStdin: true}}
		result, err := c.Start(ctx, params, strings.NewReader("input"), got.emit)
		return after(err, got.ended(result))
	}},
	{protocol.PathPoll, func(ctx context.Context, c *Client) error {
		got := &count{}
		state, err := c.Poll(ctx, protocol.PollParams{ID: someExec, Stdout: 3, MaxBytes: 10}, got.emit)
		if err == nil && (state.ID != someExec || state.Stdout < 3) {
			return fmt.Errorf("got %+v", state)
		}
		return after(err, got.ended(state.Result))
	}},
	{protocol.PathExecs, func(ctx context.Context, c *Client) error {
		all, err := c.Execs(ctx)
		if len(all) > maxListed {
			return fmt.Errorf("%d execs", len(all))
		}
		return err
	}},
	{protocol.PathSignal, func(ctx context.Context, c *Client) error { return c.Signal(ctx, protocol.SignalParams{ID: someExec}) }},
	{protocol.PathKill, func(ctx context.Context, c *Client) error { return c.Kill(ctx, protocol.KillParams{ID: someExec}) }},
	{protocol.PathResize, func(ctx context.Context, c *Client) error { return c.Resize(ctx, protocol.ResizeParams{ID: someExec}) }},
	{protocol.PathInput, func(ctx context.Context, c *Client) error {
		taken, err := c.Input(ctx, someExec, strings.NewReader("abc"), true)
		if taken < 0 || taken > 3 {
			return fmt.Errorf("%d bytes taken", taken)
		}
		return err
	}},
}

// after is what is wrong with an answer that was taken for good.
func after(err, wrong error) error {
	if err != nil {
		return err
	}
	return wrong
}

func sane(all ...protocol.FileInfo) error {
	for _, i := range all {
		if i.Size < 0 || i.Mode > 0o7777 || i.Type == "" {
			return fmt.Errorf("believed %+v", i)
		}
	}
	return nil
}

func counted(s protocol.ArchiveStats) error {
	if s.Bytes < 0 || s.Files < 0 {
		return fmt.Errorf("believed %+v", s)
	}
	return nil
}

// count is how much output came.
type count [3]int64

func (n *count) emit(s protocol.Stream, chunk []byte) error {
	n[s] += int64(len(chunk))
	return nil
}

func (n *count) ended(r protocol.ExecResult) error {
	if n[protocol.Stdout] > min(10, r.StdoutBytes) || n[protocol.Stderr] > min(10, r.StderrBytes) || r.ExitCode < 0 || r.ExitCode > 255 || r.Duration < 0 {
		return fmt.Errorf("believed %+v after %v", r, *n)
	}
	return nil
}

// hostile checks how a call of a guest that says anything ends: soon, and with a
// result that may be true, a refusal, or a loss.
func hostile(t *testing.T, c *Client, call int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := everyCall[call].make(ctx, c)
	var refused *protocol.Error
	if err != nil && !errors.Is(err, ErrLost) && (!errors.As(err, &refused) || !refused.Code.Known() || len(refused.Message) > 3*maxMessage) {
		t.Errorf("%s: %v", everyCall[call].path, err)
	}
	if ctx.Err() != nil {
		t.Errorf("%s hangs", everyCall[call].path)
	}
}

// FuzzAnswers: every call, answered by well-formed HTTP that says anything.
func FuzzAnswers(f *testing.F) {
	info := `{"type":"file","size":3,"mode":420}`
	refused := `{"code":"not_found","message":"no such file"}`
	ended := frame(protocol.Result, `{"exit_code":1,"stdout_bytes":1,"stderr_bytes":0,"duration":1}`)
	for call := range everyCall {
		f.Add(byte(call), uint16(200), "", []byte("{}"), "", "")
		f.Add(byte(call), uint16(200), info, []byte(info), "", `{"bytes":1,"files":1}`)
		f.Add(byte(call), uint16(200), info, append(frame(protocol.Stdout, "x"), ended...), refused, "")
		f.Add(byte(call), uint16(400), refused, []byte(refused), refused, refused)
	}
	f.Add(byte(13), uint16(200), "", append(frame(protocol.Stdout, "x"), frame(protocol.Result, state(`"stdout":3,"result":{"stdout_bytes":4}`))...), "", "")
	f.Add(byte(14), uint16(200), "", []byte(state(`"result":{}`)), "", "")
	f.Add(byte(5), uint16(200), "", []byte(`{"entries":[`+info+`],"next":"YQ=="}`), "", "")
	f.Add(byte(18), uint16(200), "", []byte(`{"taken":2,"error":`+refused+`}`), "", "")
	f.Fuzz(func(t *testing.T, call byte, status uint16, header string, body []byte, trailer, stats string) {
		c := fakeGuest(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(protocol.InfoHeader, header)
			w.WriteHeader(200 + int(status)%800)
			w.Write(body)
			w.Header().Set(http.TrailerPrefix+protocol.ErrorTrailer, printable(trailer))
			w.Header().Set(http.TrailerPrefix+protocol.StatsTrailer, printable(stats))
		})
		hostile(t, c, int(call)%len(everyCall))
	})
}

// printable is text without what Go's server would leave out of a trailer, and the
// end of the stream with it: then the call rightly waits for it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
}

// FuzzChannel: a guest that greets as it should and then sends frames of HTTP/2
// of any kind, in any order, or none; and goes when it has said all.
func FuzzChannel(f *testing.F) {
	settings := script(4, 0, 0, "")
	ok := script(1, 4, 1, "\x88") // HEADERS with the end of them: status 200
	f.Add(byte(0), join(settings, ok, script(0, 1, 1, "{}")))
	f.Add(byte(11), join(settings, ok, script(0, 1, 1, string(frame(protocol.Result, `{}`)))))
	f.Add(byte(2), join(settings, ok, script(0, 0, 1, "half"), script(1, 5, 1, "\x00\x01a\x01b")))
	f.Add(byte(3), join(settings, script(3, 0, 1, "\x00\x00\x00\x08"), script(7, 0, 0, strings.Repeat("\x00", 8)))) // RST_STREAM, GOAWAY
	f.Add(byte(4), join(settings, script(8, 0, 0, "\x7f\xff\xff\xff"), script(6, 0, 0, "12345678")))                // WINDOW_UPDATE, PING
	f.Add(byte(5), join(settings, script(5, 4, 1, "\x00\x00\x00\x02\x88"), script(1, 0, 1, "\x88"), script(9, 4, 1, "\x88")))
	f.Add(byte(6), join(script(4, 0, 0, "\x00\x04\xff\xff\xff\xff"), script(4, 1, 0, ""), script(2, 0, 1, "\x00\x00\x00\x01\x10")))
	f.Add(byte(9), []byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Add(byte(14), join(settings, script(1, 4, 1, "\x08\x03100"), ok, script(0, 9, 1, "\xff{}")))
	f.Fuzz(func(t *testing.T, call byte, frames []byte) {
		ours, theirs := net.Pipe()
		key := protocol.Key{1, 2, 3}
		said := make(chan struct{})
		go func() {
			defer close(said)
			defer theirs.Close()
			greeting := make([]byte, 2*protocol.KeySize+protocol.NonceSize)
			io.ReadFull(theirs, greeting)
			theirs.Write(greeting[protocol.KeySize:])
			heard := make(chan struct{})
			first := make(chan struct{})
			go func() {
				defer close(heard)
				if _, err := io.CopyN(io.Discard, theirs, 100); err == nil { // the preface, and a call
					close(first)
				}
				io.Copy(io.Discard, theirs)
			}()
			select {
			case <-first:
			case <-heard:
			}
			theirs.Write(spoken(frames))
			theirs.Close()
			<-heard
		}()
		c, err := Dial(t.Context(), ours, key)
		if err != nil {
			t.Fatal(err)
		}
		hostile(t, c, int(call)%len(everyCall))
		c.Close()
		<-said
	})
}

// script is a frame as spoken reads it: the fuzzer has no lengths to keep right.
func script(kind, flags, stream byte, payload string) []byte {
	return append([]byte{kind, flags, stream, byte(len(payload))}, payload...)
}

// spoken makes frames of a script. Of one that ends early the rest goes out as it is.
func spoken(script []byte) (out []byte) {
	for len(script) >= 4 {
		kind, flags, stream, size := script[0], script[1], script[2], int(script[3])
		if script = script[4:]; size > len(script) {
			break
		}
		out = append(out, 0, 0, byte(size), kind, flags, 0, 0, 0, stream)
		out, script = append(out, script[:size]...), script[size:]
	}
	return append(out, script...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
