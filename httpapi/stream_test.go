package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// event is any line of a stream.
type event struct {
	Type     string
	Data     string
	Encoding string
	Error    schemas.Error
	schemas.ExecExit
}

// stream runs a command to its end and gives its events; each is checked, and
// the last must be the only one of its kind.
func (d *door) stream(sandbox string, req any) []event {
	d.t.Helper()
	r := d.do("POST", sandbox+"/exec/stream", req)
	if r.status != 200 || r.err != nil || r.header.Get("Content-Type") != "application/x-ndjson" {
		d.t.Fatalf("%d %v %s %v", r.status, r.err, r.body, r.header)
	}
	return eventsOf(d.t, r.body)
}

func eventsOf(t testing.TB, body []byte) (all []event) {
	t.Helper()
	for line := range bytes.Lines(body) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, e)
	}
	for i, e := range all {
		if last := e.Type == "exit" || e.Type == "error"; last != (i == len(all)-1) {
			t.Fatalf("event %d of %d is %s", i+1, len(all), e.Type)
		}
	}
	if len(all) == 0 {
		t.Fatal("no events")
	}
	return all
}

func joined(all []event, stream string) (text string) {
	for _, e := range all {
		if e.Type == stream {
			text += e.Data
		}
	}
	return text
}

func TestStream(t *testing.T) {
	d := start(t)
	at := d.create()
	all := d.stream(at, `{"command":"echo out; printf 'tail <&>' ; echo err >&2; exit 3"}`)
	if joined(all, "stdout") != "out\ntail <&>" || joined(all, "stderr") != "err\n" {
		t.Errorf("events are %+v", all)
	}
	if last := all[len(all)-1]; last.Type != "exit" || last.ExitCode != 3 || last.StdoutBytes != 12 {
		t.Errorf("the last is %+v", last)
	}
	if all := d.stream(at, `{"command":"sleep 60","timeout_seconds":0.2}`); !all[0].TimedOut || all[0].ExitCode != 137 {
		t.Errorf("events are %+v", all)
	}
	if all := d.stream(at, `{"command":"true"}`); len(all) != 1 {
		t.Errorf("events are %+v", all)
	}
}

// D1: a character that comes in pieces is whole in the end; what is none is
// replaced, and in base64 each byte stays.
func TestD1StreamEncodings(t *testing.T) {
	d := start(t)
	at := d.create()
	split := `{"command":"printf '\\360'; sleep 0.03; printf '\\237\\230'; sleep 0.03; printf '\\200'; printf 'a\\377'; printf '\\303' >&2"}`
	all := d.stream(at, split)
	if joined(all, "stdout") != "\U0001F600a\uFFFD" || joined(all, "stderr") != "\uFFFD" {
		t.Errorf("events are %+v", all)
	}
	var exact []byte
	for _, e := range d.stream(at, strings.Replace(split, "{", `{"encoding":"base64",`, 1)) {
		if e.Type != "stdout" {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(e.Data)
		if err != nil || e.Encoding != "base64" {
			t.Errorf("%+v: %v", e, err)
		}
		exact = append(exact, b...)
	}
	if string(exact) != "\xf0\x9f\x98\x80a\xff" {
		t.Errorf("bytes are %q", exact)
	}
}

// Events arrive while the command runs, and blank lines while it is silent.
func TestA15StreamIsLive(t *testing.T) {
	d := start(t, func(s *setup) { s.times.heartbeat, s.times.begin = 30*time.Millisecond, 10*time.Millisecond })
	at := d.create()
	resp, err := d.client.Do(d.request("POST", at+"/exec/stream", `{"command":"sleep 0.1; echo a; sleep 0.1; echo b"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	blank := 0
	for lines.Scan() && !strings.Contains(lines.Text(), `"a\n"`) {
		blank++
	}
	if blank == 0 {
		t.Error("no blank lines in the silence")
	}
	var rest []byte
	for lines.Scan() {
		rest = append(append(rest, lines.Bytes()...), '\n')
	}
	if all := eventsOf(t, rest); joined(all, "stdout") != "b\n" {
		t.Errorf("events are %+v", all)
	}
}

// A8: what cannot be seen to its end says so in its last line.
func TestA8StreamEndsInAnError(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(d *door, at string)
		code schemas.Code
	}{
		"container dies": {func(d *door, at string) { d.fake.StopContainer(containerOf(at)) }, schemas.CodeBackendError},
		"destroyed":      {func(d *door, at string) { d.do("DELETE", at, nil) }, schemas.CodeSandboxGone},
		"server closes":  {func(d *door, at string) { d.manager.Close() }, schemas.CodeBackendUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t)
			at := d.create()
			resp, err := d.client.Do(d.request("POST", at+"/exec/stream", `{"command":"echo a; sleep 60"}`))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body := bufio.NewReader(resp.Body)
			if _, err := body.ReadBytes('\n'); err != nil {
				t.Fatal(err)
			}
			c.end(d, at)
			line, err := body.ReadBytes('\n')
			if all := eventsOf(t, line); err != nil || all[0].Error.Code != c.code || all[0].Error.Hint == "" {
				t.Errorf("%s, %v", line, err)
			}
			if b, err := body.ReadByte(); err == nil {
				t.Errorf("%q follows", b)
			}
		})
	}
}

func TestStreamRefusedBeforeItBegins(t *testing.T) {
	d := start(t)
	at := d.create()
	d.do("POST", at+"/exec/stream", `{"command":"true","workdir":"nowhere"}`).fails(t, 400, schemas.CodeInvalidRequest, "nowhere")
	d.do("POST", "/v1/sandboxes/sb_0123456789abcdef/exec/stream", `{"command":"true"}`).fails(t, 404, schemas.CodeNotFound)
	d.fake.GoDown()
	d.do("POST", at+"/exec/stream", `{"command":"true"}`).fails(t, 503, schemas.CodeBackendUnavailable)
}

// B13: a client that goes away kills its command, the same in both.
func TestB13DisconnectKills(t *testing.T) {
	d := start(t)
	at := d.create()
	for _, path := range []string{"/exec", "/exec/stream"} {
		d.sh(at, "rm -f tick late")
		ctx, cancel := context.WithCancel(t.Context())
		req := d.request("POST", at+path, `{"command":"touch tick; sleep 0.5; touch late"}`).WithContext(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := d.client.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		eventually(t, "running", func() bool { return d.do("GET", at+"/files?path=tick", nil).status == 200 })
		cancel()
		<-done
		time.Sleep(time.Second)
		d.do("GET", at+"/files?path=late", nil).fails(t, 404, schemas.CodeNotFound)
	}
}

// E3: a reader who does not read costs no memory, and in the end the command.
func TestE3ReaderDoesNotRead(t *testing.T) {
	d := start(t, func(s *setup) { s.times.patience = 300 * time.Millisecond })
	at := d.create()
	c := dial(t, d)
	body := `{"command":"yes","timeout_seconds":3600}`
	before := heap()
	c.call("POST", at+"/exec/stream", "Content-Length: "+itoa(len(body)))
	c.say(body)
	running := func() int { return strings.Count(d.log.String(), `exec/stream","status":200`) }
	eventually(t, "dropped", func() bool { return running() == 1 })
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if !strings.Contains(d.log.String(), `"cut_off":true`) {
		t.Errorf("the log does not tell:\n%s", d.log)
	}
	if n := d.fake.Calls(backendtest.OpExec); n != 1 {
		t.Errorf("%d execs", n)
	}
}

// A4: one who reads slowly, but does, gets all of it.
func TestA4SlowReader(t *testing.T) {
	d := start(t, func(s *setup) { s.times.patience = time.Second })
	at := d.create()
	resp, err := d.client.Do(d.request("POST", at+"/exec/stream", `{"command":"head -c 8388608 /dev/zero","encoding":"base64"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	time.Sleep(500 * time.Millisecond)
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, e := range eventsOf(t, body.Bytes()) {
		b, _ := base64.StdEncoding.DecodeString(e.Data)
		total += len(b)
	}
	if total != 8388608 {
		t.Errorf("%d bytes arrived", total)
	}
}

// A stream whose command panics the handler does not look like one that ended.
func TestStreamIsCutByPanic(t *testing.T) {
	d := start(t, func(s *setup) { s.core = func(m *manager.Manager) core { return panicky{m} } })
	at := d.create()
	resp, err := d.client.Do(d.request("POST", at+"/exec/stream", `{"command":"true"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if r := readReply(t, resp); r.err == nil {
		t.Errorf("ended with %q", r.body)
	}
}

type panicky struct{ *manager.Manager }

func (panicky) ExecStream(_ context.Context, _ manager.Owner, _ schemas.SandboxID, _ schemas.ExecRequest, emit func(schemas.Stream, []byte) error) (schemas.ExecExit, *schemas.ExecState, error) {
	emit(schemas.Stdout, []byte("x"))
	panic("at the disco")
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
