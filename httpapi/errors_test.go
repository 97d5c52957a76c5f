package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/manager/backendtest"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// Every code has its status, in one shape, also when it comes from deep inside.
func TestFailuresOfTheBackend(t *testing.T) {
	d := start(t)
	at := d.create()
	for _, c := range []struct {
		fault     error
		status    int
		code      schemas.Code
		retryable bool
	}{
		{errors.New("open /var/lib/secret: bad"), 500, schemas.CodeInternal, false},
		{&manager.Error{Kind: manager.KindInternal, Message: "secret"}, 500, schemas.CodeInternal, false},
		{&manager.Error{Kind: manager.KindInvalid, Message: "m", Cause: errors.New("secret")}, 400, schemas.CodeInvalidRequest, false},
		{&manager.Error{Kind: manager.KindForbidden, Message: "m"}, 403, schemas.CodeForbidden, false},
		{&manager.Error{Kind: manager.KindNotFound, Message: "m"}, 404, schemas.CodeNotFound, false},
		{&manager.Error{Kind: manager.KindConflict, Message: "m"}, 409, schemas.CodeConflict, false},
		{&manager.Error{Kind: manager.KindTooLarge, Message: "m"}, 413, schemas.CodePayloadTooLarge, false},
		{&manager.Error{Kind: manager.KindLimit, Message: "m", Retryable: true}, 429, schemas.CodeLimitExceeded, true},
		{&manager.Error{Kind: manager.KindBackend, Message: "m", Cause: errors.New("secret")}, 502, schemas.CodeBackendError, false},
		{&manager.Error{Kind: manager.KindUnavailable, Message: "m"}, 503, schemas.CodeBackendUnavailable, true},
		{&manager.Error{Kind: manager.KindNoSpace, Message: "m"}, 507, schemas.CodeInsufficientStorage, false},
	} {
		for _, path := range []string{"/exec", "/exec/stream"} {
			d.fake.Inject(backendtest.OpExec, backendtest.Fault{Times: 1, Before: c.fault})
			r := d.do("POST", at+path, `{"command":"true"}`)
			if e := r.fails(t, c.status, c.code); e.Retryable != c.retryable || strings.Contains(string(r.body), "secret") {
				t.Errorf("%v: %s", c.fault, r.body)
			}
			waits := c.status == 429 || c.status == 503
			if (r.header.Get("Retry-After") != "") != waits {
				t.Errorf("%d: Retry-After is %q", c.status, r.header.Get("Retry-After"))
			}
		}
	}
	if !strings.Contains(d.log.String(), "/var/lib/secret") {
		t.Error("the log does not say what was hidden")
	}
}

func TestSandboxGoesAway(t *testing.T) {
	d := start(t)
	at := d.create()
	done := make(chan reply)
	go func() { done <- d.do("POST", at+"/exec", `{"command":"touch here; sleep 60"}`) }()
	eventually(t, "running", func() bool { return d.do("GET", at+"/files?path=here", nil).status == 200 })
	d.do("DELETE", at, nil)
	r := <-done
	if e := r.fails(t, 410, schemas.CodeSandboxGone); e.Reason != manager.ReasonDestroyed {
		t.Errorf("reason is %q", e.Reason)
	}
}

func TestLimitOfSandboxes(t *testing.T) {
	d := start(t, func(s *setup) { s.limits.MaxSandboxes, s.limits.AllowNetwork = 1, false })
	d.do("POST", "/v1/sandboxes", `{"network":true}`).fails(t, 403, schemas.CodeForbidden)
	d.create()
	r := d.do("POST", "/v1/sandboxes", nil)
	r.fails(t, 429, schemas.CodeLimitExceeded)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// Calls beyond the bound are refused; health is not.
func TestCallsAreBounded(t *testing.T) {
	wait, entered := make(chan struct{}), make(chan struct{})
	d := start(t, func(s *setup) {
		s.MaxInFlight = 1
		s.Extra = map[string]http.Handler{"/slow": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			entered <- struct{}{}
			<-wait
		})}
	})
	done := make(chan reply)
	go func() { done <- d.do("GET", "/slow", nil) }()
	<-entered
	if e := d.do("GET", "/v1/sandboxes", nil).fails(t, 429, schemas.CodeLimitExceeded); !e.Retryable {
		t.Error("not retryable")
	}
	if r := d.do("GET", "/healthz", nil); r.status != 200 {
		t.Errorf("healthz: %d", r.status)
	}
	close(wait)
	<-done
	if r := d.do("GET", "/v1/sandboxes", nil); r.status != 200 {
		t.Errorf("afterwards: %d", r.status)
	}
}

// A panic is answered, or breaks the connection when an answer is under way; the
// server goes on either way.
func TestPanics(t *testing.T) {
	d := start(t, func(s *setup) {
		s.Extra = map[string]http.Handler{
			"/before": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret " + aliceKey) }),
			"/during": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Write([]byte("part"))
				w.(http.Flusher).Flush()
				panic("secret")
			}),
		}
	})
	r := d.do("GET", "/before", nil)
	r.fails(t, 500, schemas.CodeInternal)
	if strings.Contains(string(r.body), "secret") {
		t.Errorf("the answer shows %s", r.body)
	}
	if r := d.do("GET", "/during", nil); r.err == nil {
		t.Errorf("half an answer passes for a whole: %q", r.body)
	}
	if r := d.do("GET", "/v1/sandboxes", nil); r.status != 200 {
		t.Errorf("afterwards: %d", r.status)
	}
}

// M3: one line a call, with nothing of what is the caller's own.
func TestAccessLog(t *testing.T) {
	d := start(t)
	at := d.create()
	r := d.as("PUT", at+"/files?path=my-file", "my-content", "X-Request-Id", "mine-1")
	if r.header.Get("X-Request-Id") != "mine-1" {
		t.Errorf("request ID is %q", r.header.Get("X-Request-Id"))
	}
	if id := d.as("GET", at+"/files?path=my-file", nil, "X-Request-Id", "a b\"").header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") {
		t.Errorf("request ID is %q", id)
	}
	eventually(t, "two lines", func() bool { return strings.Count(d.log.String(), `/files"`) == 2 })
	log := d.log.String()
	for _, want := range []string{`"method":"PUT"`, `"route":"/v1/sandboxes/{id}/files"`, `"status":200`, `"owner":"alice"`, `"request_id":"mine-1"`, `"bytes":10`, `"took_ms"`} {
		if !strings.Contains(log, want) {
			t.Errorf("%s is missing in\n%s", want, log)
		}
	}
	for _, secret := range []string{aliceKey, "my-file", "my-content", at} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// A body that does not come is refused in time, and does not take the server's.
func TestSlowBody(t *testing.T) {
	d := start(t, func(s *setup) { s.times.body, s.times.linger = 50*time.Millisecond, 50*time.Millisecond })
	c := dial(t, d)
	c.say("POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " + aliceKey + "\r\nContent-Length: 100\r\n\r\n{")
	resp := c.response("POST")
	readReply(t, resp).fails(t, 400, schemas.CodeInvalidRequest, "did not arrive")

	c = dial(t, d) // nor does one that nobody wants to read keep the answer back
	c.say("POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	readReply(t, c.response("POST")).fails(t, 401, schemas.CodeUnauthorized)
}
