package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// FuzzRoutes: any route, with anything in its path, query, headers and body. Each
// answer is one that the document allows, no fault of the server's own, and an
// error of our shape where it is one; and the server goes on.
//
// In the inputs, SB, SNAP and EX stand for the IDs of what there is.
func FuzzRoutes(f *testing.F) {
	for i, r := range routes {
		f.Add(byte(i), "SB", "EX", "", "", "{}")
		if strings.HasPrefix(r.path, snapshot) {
			f.Add(byte(i), "SNAP", "", "", "", "")
		}
	}
	for _, s := range []struct{ route, query, header, body string }{
		{"POST /v1/sandboxes", "", "application/json", `{"image":"busybox","env":{"A":"b"},"cpus":0.5,"memory_mb":64,"network":true,"timeout_seconds":60}`},
		{"POST " + sandbox + "/exec", "", "", `{"command":"echo a","stdin_base64":"YQ==","encoding":"base64","wait_seconds":0}`},
		{"POST " + sandbox + "/exec/stream", "", "", `{"command":["echo","a"],"workdir":"../tmp","env":{"":""}}`},
		{"GET " + oneExec, "cursor=1.2&wait_seconds=0&max_output_bytes=0&encoding=base64", "", ""},
		{"POST " + oneExec + "/stdin", "close=true", "", "input"},
		{"POST " + oneExec + "/signal", "", "", `{"signal":"KILL"}`},
		{"GET " + sandbox + "/terminal", "columns=80&rows=0&command=ls&term=x", "", ""},
		{"GET " + sandbox + "/files", "path_base64=Li4vLi4vZXRjL3Bhc3N3ZA", "bytes=0-1", ""},
		{"PUT " + sandbox + "/files", "path=a/b/..%2Fc%00&mode=4755", "", "content"},
		{"DELETE " + sandbox + "/files", "path=/workspace&recursive=true", "", ""},
		{"GET " + sandbox + "/files/list", "path=.&limit=1&cursor=YQ", "", ""},
		{"POST " + sandbox + "/files/move", "", "", `{"from":"a","to":"../../b"}`},
		{"PUT " + sandbox + "/archive", "path=/workspace/d", "", strings.Repeat("\x00", 1024)},
		{"POST " + sandbox + "/rollback", "", "", `{"snapshot_id":"SNAP"}`},
		{"POST " + sandbox + "/fork", "", "", `{"count":2}`},
		{"GET /v1/snapshots", "sandbox_id=SB&limit=1000&cursor=x", "", ""},
		{"POST /v1/snapshots", "image=busybox&name=n", "", strings.Repeat("\x00", 1024)},
	} {
		for i, r := range routes {
			if r.method+" "+r.path == s.route {
				f.Add(byte(i), "SB", "EX", s.query, s.header, s.body)
			}
		}
	}
	w := &fuzzWorld{}
	w.door = start(f)
	w.client.Transport = readContract(f).Transport(http.DefaultTransport, func(err error) { w.broken = errors.Join(w.broken, err) })
	f.Fuzz(func(t *testing.T, n byte, id, exec, query, header, body string) {
		w.ready(t)
		r := routes[int(n)%len(routes)]
		// Without what Go's own client would refuse to send.
		escape := strings.NewReplacer("\x00", "", " ", "%20", "#", "%23", "?", "%3F", "\r", "", "\n", "")
		path := strings.NewReplacer("{id}", escape.Replace(w.name(id)), "{exec_id}", escape.Replace(w.name(exec))).Replace(r.path)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, r.method, w.url+path+"?"+escape.Replace(w.name(query)), strings.NewReader(w.name(body)))
		if err != nil {
			t.Skip(err)
		}
		req.Header.Set("Authorization", "Bearer "+aliceKey)
		for _, name := range []string{"Content-Type", "Range", "If-Match", "Accept"} {
			if header != "" {
				req.Header.Set(name, header)
			}
		}
		w.look(t, req)
	})
}

// fuzzWorld is a door with a sandbox, a snapshot and an exec, all made again when
// an input has removed them.
type fuzzWorld struct {
	*door
	sandbox  string
	snapshot string
	exec     string
	uses     int
	broken   error // with the document
}

// ready is all there for one input. Things do not pile up for ever.
func (w *fuzzWorld) ready(t *testing.T) {
	w.broken = nil
	if w.uses++; w.uses%500 == 0 {
		w.empty(t)
	}
	if w.sandbox != "" && w.ask(t, "GET", "/v1/sandboxes/"+w.sandbox, "", nil) && w.ask(t, "GET", "/v1/snapshots/"+w.snapshot, "", nil) {
		return
	}
	w.empty(t)
	var box schemas.Sandbox
	var snap schemas.Snapshot
	var run schemas.ExecState
	if !w.ask(t, "POST", "/v1/sandboxes", "", &box) || !w.ask(t, "POST", "/v1/sandboxes/"+string(box.ID)+"/snapshots", "", &snap) ||
		!w.ask(t, "POST", "/v1/sandboxes/"+string(box.ID)+"/exec", `{"command":"sleep 1000","background":true}`, &run) {
		t.Fatal("the server is of no use any more")
	}
	w.sandbox, w.snapshot, w.exec = string(box.ID), string(snap.ID), string(run.ExecID)
}

func (w *fuzzWorld) empty(t *testing.T) {
	var boxes schemas.SandboxList
	var snaps schemas.SnapshotList
	w.ask(t, "GET", "/v1/sandboxes?limit=1000", "", &boxes)
	for _, b := range boxes.Sandboxes {
		w.ask(t, "DELETE", "/v1/sandboxes/"+string(b.ID), "", nil)
	}
	w.ask(t, "GET", "/v1/snapshots?limit=1000", "", &snaps)
	for _, s := range snaps.Snapshots {
		w.ask(t, "DELETE", "/v1/snapshots/"+string(s.ID), "", nil)
	}
}

func (w *fuzzWorld) name(text string) string {
	return strings.NewReplacer("SNAP", w.snapshot, "SB", w.sandbox, "EX", w.exec).Replace(text)
}

// ask makes a call of the test's own.
func (w *fuzzWorld) ask(t *testing.T, method, path, body string, into any) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+aliceKey)
	r := w.answer(t, req)
	if r.status/100 != 2 {
		return false
	}
	return into == nil || json.Unmarshal(r.body, into) == nil
}

// look judges an answer.
func (w *fuzzWorld) look(t *testing.T, req *http.Request) {
	t.Helper()
	r := w.answer(t, req)
	// What is no route, as one with an ID of nothing or of dots, the document does not know.
	if w.broken != nil && r.status != http.StatusNotFound && r.status != http.StatusMethodNotAllowed {
		t.Errorf("%s %s: %v", req.Method, req.URL, w.broken)
	}
	if r.status >= 500 {
		t.Errorf("%s %s: %d %s", req.Method, req.URL, r.status, r.body)
	}
	if r.status >= 400 && req.Method != http.MethodHead {
		var b schemas.ErrorBody
		if err := json.Unmarshal(r.body, &b); err != nil || b.Error.Code == "" || b.Error.Message == "" || b.Error.Code == schemas.CodeInternal {
			t.Errorf("%s %s: %d %q", req.Method, req.URL, r.status, r.body)
		}
	}
}

func (w *fuzzWorld) answer(t *testing.T, req *http.Request) reply {
	t.Helper()
	resp, err := w.client.Do(req)
	switch {
	case errors.Is(err, context.DeadlineExceeded): // a command that was waited for
		return reply{status: http.StatusNoContent}
	case err != nil:
		t.Skip(err) // Go's own client would not send it
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return reply{status: resp.StatusCode}
	}
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, body, err}
}
