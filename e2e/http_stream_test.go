package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestHTTPStream: streams as readers and networks treat them.
func TestHTTPStream(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST)
	runCases(t, s.create(), []testCase[*sandbox]{
		{"A1 A3 streams are complete", streamsComplete},
		{"A4 slow reader", slowReader},
		{"A15 silence through a proxy", silenceThroughProxy},
		{"B13 closed stream kills", closedStreamKills},
		{"B13 closed exec kills", cancelKills},
		{"D1 D2 bytes of a stream", streamBytes},
		{"E3 reader that stops", readerStops},
		{"A8 container dies under a stream", containerDiesUnderStream},
	})
	runCases(t, s, []testCase[*server]{
		{"B14 destroy under a stream", destroyUnderStream},
	})
}

func streamsComplete(b *sandbox) {
	stdout, stderr := lines(25000), lines(8000)
	repeat(b.t, count(40, 300), 8, func(i int) error {
		command, want, wantErr := "printf tail-without-newline; printf b >&2", "tail-without-newline", "b"
		if i%4 == 0 {
			command, want, wantErr = "seq 25000 & seq 8000 >&2; wait", stdout, stderr
		}
		r, err := b.Live(ctx(b.t), args{"sandbox_id": b.ID, "command": command}, func(string) {})
		if err != nil || r.Stdout != want || r.Stderr != wantErr || r.ExitCode != 0 || r.StdoutBytes != int64(len(want)) {
			return fmt.Errorf("run %d: %d and %d bytes, exit code %d, %v", i, len(r.Stdout), len(r.Stderr), r.ExitCode, err)
		}
		return nil
	})
}

// slowReader reads only when the command has long been held up.
func slowReader(b *sandbox) {
	const size = 8 << 20
	resp := b.open(ctx(b.t), args{"command": fmt.Sprintf("head -c %d /dev/zero", size), "encoding": "base64"})
	defer resp.Body.Close()
	b.must(fmt.Sprint("sleep ", count(1, 3)))
	got := 0
	var exit client.Event
	err := client.Events(resp.Body, func(e client.Event) {
		data, err := base64.StdEncoding.DecodeString(e.Data)
		check(b.t, err)
		got += len(data)
		exit = e
	})
	if err != nil || got != size || exit.StdoutBytes != size || exit.ExitCode != 0 {
		b.t.Errorf("got %d of %d bytes, %+v, %v", got, size, exit.ExecExit, err)
	}
}

// idleProxy passes connections on, and cuts one that the server is silent on.
func idleProxy(t *testing.T, to string, limit time.Duration) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			pass := func(to, from net.Conn, limit time.Duration) {
				defer to.Close()
				defer from.Close()
				buf := make([]byte, 32<<10)
				for {
					from.SetReadDeadline(time.Now().Add(limit))
					n, err := from.Read(buf)
					if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
						return
					}
				}
			}
			go pass(out, in, time.Hour)
			go pass(in, out, limit)
		}
	}()
	return l.Addr().String()
}

func silenceThroughProxy(b *sandbox) {
	limit, silence := time.Duration(count(13, 60))*time.Second, count(22, 90)
	a := args{"sandbox_id": b.ID, "command": fmt.Sprintf("sleep %d; echo done", silence), "timeout_seconds": 180}
	direct := inBackground(func() {
		if r, err := b.trySh(fmt.Sprintf("sleep %d; echo done", silence), args{"timeout_seconds": 180}); err != nil || r.Stdout != "done\n" {
			b.t.Errorf("exec: %+v, %v", r, err)
		}
	})
	c := b.As(aliceKey)
	c.URL = "http://" + idleProxy(b.t, strings.TrimPrefix(b.URL, "http://"), limit)
	signs := 0
	r, err := c.Live(within(b.t, 3*time.Minute), a, func(string) { signs++ })
	if err != nil || r.Stdout != "done\n" || signs < silence/15 {
		b.t.Errorf("stream through a proxy that cuts after %v of silence: %+v, %d signs of life, %v", limit, r, signs, err)
	}
	direct()
}

func closedStreamKills(b *sandbox) {
	b.must("rm -f tick")
	c, cancel := context.WithCancel(ctx(b.t))
	defer cancel()
	resp := b.open(c, args{"command": "echo begun; " + tick, "timeout_seconds": 100})
	buf := make([]byte, 100)
	if n, err := resp.Body.Read(buf); err != nil || !strings.Contains(string(buf[:n]), "begun") {
		b.t.Errorf("read %q, %v", buf[:n], err)
	}
	eventually(b.t, 10*time.Second, "the command runs", func() (bool, any) {
		r, err := b.trySh("test -s tick")
		return r.ExitCode == 0, err
	})
	cancel()
	resp.Body.Close()
	stopped(b)
	b.must("rm -f tick")
}

func streamBytes(b *sandbox) {
	resp := b.open(ctx(b.t), args{"command": `i=0; while [ $i -lt 256 ]; do printf "\\$(printf %o $i)"; i=$((i+1)); done`, "encoding": "base64"})
	defer resp.Body.Close()
	var got []byte
	err := client.Events(resp.Body, func(e client.Event) {
		data, _ := base64.StdEncoding.DecodeString(e.Data)
		got = append(got, data...)
	})
	if err != nil || len(got) != 256 {
		b.t.Fatalf("got %d bytes, %v", len(got), err)
	}
	for i := range got {
		if got[i] != byte(i) {
			b.t.Fatalf("byte %d is %d", i, got[i])
		}
	}
}

func readerStops(b *sandbox) {
	c, cancel := context.WithCancel(ctx(b.t))
	defer cancel()
	flat(b.server, func() {
		for range 5 {
			b.open(c, args{"command": "yes", "timeout_seconds": 100})
		}
		b.must(fmt.Sprint("sleep ", count(4, 30)))
	})
	if n := processes(b); n != 5 {
		b.t.Errorf("%d of 5 commands are held up by their readers", n)
	}
	cancel()
	eventually(b.t, 5*time.Second, "none is left", func() (bool, any) {
		n := processes(b)
		return n == 0, n
	})
}

// endOf begins a stream, does something to it, and returns how it ended.
func (b *sandbox) endOf(limit time.Duration, do func()) error {
	b.t.Helper()
	resp := b.open(ctx(b.t), args{"command": "echo begun; sleep 300", "timeout_seconds": 300})
	defer resp.Body.Close()
	done := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		done <- client.Events(resp.Body, func(e client.Event) {
			if e.Data == "begun\n" {
				close(begun)
			}
		})
	}()
	<-begun
	var err error
	took(b.t, limit, "the end of the stream", func() {
		do()
		err = <-done
	})
	return err
}

func containerDiesUnderStream(b *sandbox) {
	container := b.containerOf(string(b.ID))
	err := b.endOf(6*time.Second, func() { mustDocker(b.t, "kill", container) })
	if c := client.Code(err); c == "" || c == string(schemas.CodeInternal) {
		b.t.Errorf("the stream ended with %v, want a typed error", err)
	}
	b.alive()
}

func destroyUnderStream(s *server) {
	b := s.create()
	err := b.endOf(6*time.Second, func() { check(s.t, s.destroy(b.ID)) })
	if client.Code(err) != string(schemas.CodeSandboxGone) || !strings.Contains(err.Error(), "destroyed") {
		s.t.Errorf("the stream ended with %v, want sandbox_gone, destroyed", err)
	}
}
