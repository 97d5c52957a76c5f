package httpapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func (d *door) launch(at, line string) (x schemas.ExecState, path string) {
	d.t.Helper()
	x = get[schemas.ExecState](d, 202, "POST", at+"/exec", map[string]any{"command": line, "background": true})
	return x, at + "/execs/" + string(x.ExecID)
}

func TestBackgroundExec(t *testing.T) {
	d := start(t)
	at := d.create()
	x, one := d.launch(at, "while read line; do echo \"<$line>\"; done; echo é >&2; exit 3")
	if x.Status != schemas.ExecRunning || x.Cursor != "0-0" {
		t.Errorf("started as %+v", x)
	}
	for i := range 50 {
		if r := d.do("POST", one+"/stdin", fmt.Sprintf("%d\n", i)); r.status != 204 {
			t.Fatalf("input: %d %s", r.status, r.body)
		}
		x = get[schemas.ExecState](d, 200, "GET", one+"?wait_seconds=10&cursor="+x.Cursor, nil)
		if x.Stdout != fmt.Sprintf("<%d>\n", i) || x.ExitCode != nil {
			t.Fatalf("round %d: %+v", i, x)
		}
	}
	if r := d.do("POST", one+"/stdin?close=true", nil); r.status != 204 {
		t.Fatalf("end of input: %d %s", r.status, r.body)
	}
	before := x.Cursor
	for x.Status == schemas.ExecRunning {
		x = get[schemas.ExecState](d, 200, "GET", one+"?wait_seconds=10&cursor="+x.Cursor, nil)
	}
	if *x.ExitCode != 3 || *x.TimedOut || *x.OOMKilled || x.Signal != nil || x.StderrBytes != 3 {
		t.Errorf("ended as %+v", x)
	}
	x = get[schemas.ExecState](d, 200, "GET", one+"?encoding=base64&max_output_bytes=2&cursor="+before, nil)
	if b, _ := base64.StdEncoding.DecodeString(x.Stderr); string(b) != "é" || !x.More || x.Encoding != "base64" {
		t.Errorf("in part: %+v", x)
	}
	list := get[schemas.ExecList](d, 200, "GET", at+"/execs", nil)
	if len(list.Execs) != 1 || list.Execs[0].ExecID != x.ExecID || list.Execs[0].Status != schemas.ExecExited {
		t.Errorf("listed as %+v", list)
	}
	d.do("POST", one+"/stdin", "x").fails(t, 409, schemas.CodeConflict, "0 of 1 bytes")
	d.do("POST", one+"/signal", map[string]any{"signal": "INT"}).fails(t, 409, schemas.CodeConflict)
}

// An exec that ends within its wait is answered as ever, another one with where
// to go on.
func TestExecIsHandedOver(t *testing.T) {
	d := start(t)
	at := d.create()
	if r := get[schemas.ExecResult](d, 200, "POST", at+"/exec", map[string]any{"command": "echo a; exit 2", "wait_seconds": 30}); r.Stdout != "a\n" || r.ExitCode != 2 {
		t.Errorf("got %+v", r)
	}
	x := get[schemas.ExecState](d, 202, "POST", at+"/exec", map[string]any{"command": "echo a; sleep 0.3; echo b", "wait_seconds": 0.1})
	if x.Stdout != "a\n" || x.Status != schemas.ExecRunning || x.Cursor != "2-0" {
		t.Errorf("handed over as %+v", x)
	}
	var rest string
	for one := at + "/execs/" + string(x.ExecID); x.Status == schemas.ExecRunning || x.More; rest += x.Stdout {
		x = get[schemas.ExecState](d, 200, "GET", one+"?wait_seconds=10&cursor="+url.QueryEscape(x.Cursor), nil)
	}
	if rest != "b\n" {
		t.Errorf("then came %q", rest)
	}
}

func TestBackgroundSignalAndKill(t *testing.T) {
	d := start(t)
	at := d.create()
	for _, c := range []struct {
		end    func(one string) reply
		signal string
	}{
		{func(one string) reply { return d.do("POST", one+"/signal", map[string]any{"signal": "TERM"}) }, "SIGTERM"},
		{func(one string) reply { return d.do("POST", one+"/signal", map[string]any{"signal": "SIGKILL"}) }, "SIGKILL"},
		{func(one string) reply { return d.do("DELETE", one, nil) }, "SIGKILL"},
	} {
		_, one := d.launch(at, "sleep 600")
		if r := c.end(one); r.status != 204 || len(r.body) > 0 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		if x := get[schemas.ExecState](d, 200, "GET", one+"?wait_seconds=10", nil); x.Signal == nil || *x.Signal != c.signal {
			t.Errorf("ended as %+v; want %s", x, c.signal)
		}
		if r := d.do("DELETE", one, nil); r.status != 204 {
			t.Errorf("once more: %d %s", r.status, r.body)
		}
	}
}

// Unknown ones, those of another sandbox, and those of another owner.
func TestBackgroundOfOthers(t *testing.T) {
	d := start(t)
	at := d.create()
	_, one := d.launch(at, "sleep 600")
	foreign := d.create() + strings.TrimPrefix(one, at)
	for _, path := range []string{at + someExec, foreign} {
		d.do("GET", path, nil).fails(t, 404, schemas.CodeNotFound, "no background exec")
		d.do("DELETE", path, nil).fails(t, 404, schemas.CodeNotFound)
		d.do("POST", path+"/stdin", "x").fails(t, 404, schemas.CodeNotFound)
		d.do("POST", path+"/signal", map[string]any{"signal": "INT"}).fails(t, 404, schemas.CodeNotFound)
	}
	for _, c := range []struct{ method, path string }{{"GET", one}, {"DELETE", one}, {"GET", at + "/execs"}, {"POST", one + "/stdin?close=true"}} {
		d.as(c.method, c.path, nil, "Authorization", "Bearer "+bobKey).fails(t, 404, schemas.CodeNotFound, "no sandbox")
	}
	if x := get[schemas.ExecState](d, 200, "GET", one, nil); x.Status != schemas.ExecRunning {
		t.Errorf("it is %+v", x)
	}
}

func TestTooManyBackgroundExecs(t *testing.T) {
	d := start(t)
	at := d.create()
	for range manager.MaxBackground {
		d.launch(at, "sleep 600")
	}
	d.do("POST", at+"/exec", map[string]any{"command": "true", "background": true}).fails(t, 429, schemas.CodeLimitExceeded, "32")
	d.sh(at, "true")
}

// A dropped connection ends a command that is waited for, and not one that has
// been handed over.
func TestBackgroundConnectionIsDropped(t *testing.T) {
	d := start(t)
	at := d.create()
	drop := func(path, body string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		req := d.request("POST", path, body).WithContext(ctx)
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
	}
	drop(at+"/exec", `{"command":"touch tick; while :; do echo a >> grows; sleep 0.005; done","wait_seconds":600}`)
	eventually(t, "it ends", func() bool {
		before := d.sh(at, "cat grows").Stdout
		time.Sleep(30 * time.Millisecond)
		return d.sh(at, "cat grows").Stdout == before
	})
	d.sh(at, "rm tick")
	_, one := d.launch(at, "touch tick; sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if resp, err := d.client.Do(d.request("GET", one+"?wait_seconds=60", nil).WithContext(ctx)); err == nil {
		resp.Body.Close()
		t.Error("a poll has news")
	}
	if x := get[schemas.ExecState](d, 200, "GET", one, nil); x.Status != schemas.ExecRunning {
		t.Errorf("it is %+v", x)
	}
}
