package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/e2e/contract"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestREST: the cases of kinds A to F over /v1.
func TestREST(t *testing.T) {
	t.Parallel()
	// As much output as a tool gives.
	s := startAt(t, client.REST, "--max-exec-output-bytes=200000")
	for _, kind := range []struct {
		name  string
		cases []testCase[*sandbox]
		rest  []testCase[*server]
	}{
		{"exec", execCases, nil},
		{"kill", killCases, killServerCases},
		{"stdin", stdinCases, nil},
		{"encoding", encodingCases, nil},
		{"output", outputCases, nil},
		{"files", fileCases, fileServerCases},
	} {
		t.Run(kind.name, func(t *testing.T) {
			b := s.in(t).create()
			runCases(t, b, kind.cases)
			runCases(t, b.server, kind.rest)
		})
	}
}

// theContract is read once: that takes a while, and all servers are of one build.
var (
	contractOnce sync.Once
	theContract  *contract.Contract
)

// check holds every answer over /v1 against the document that servers serve. Only
// the first one is asked for it: another may be about to crash.
func (s *server) check() {
	s.t.Helper()
	contractOnce.Do(func() { theContract = s.readContract() })
	if theContract == nil {
		s.t.Fatal("another test has not got openapi.json")
	}
	s.HTTP.Transport = &noHost{s, theContract.Transport(s.HTTP.Transport, func(err error) { s.t.Error(err) })}
}

func (s *server) readContract() *contract.Contract {
	s.t.Helper()
	req, err := s.Request(ctx(s.t), "GET", "/v1/openapi.json", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.HTTP.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	document, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || !json.Valid(document) {
		s.t.Fatalf("openapi.json: %d, %v, %.300s", resp.StatusCode, err, document)
	}
	c, err := contract.Read(document)
	if err == nil {
		err = c.Document()
	}
	if err != nil {
		s.t.Fatalf("openapi.json is no OpenAPI document: %v", err)
	}
	return c
}

// noHost looks into every refusal for what a caller must not see of the host.
type noHost struct {
	s    *server
	next http.RoundTripper
}

func (h *noHost) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := h.next.RoundTrip(req)
	if err != nil || resp.StatusCode < 400 {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	for _, bad := range []string{h.s.dir, h.s.instance, "docker.sock", "/var/lib", ".go:", "goroutine", "agent-sandbox-sb", "Error response from daemon"} {
		if strings.Contains(string(body), bad) {
			h.s.t.Errorf("M3 %s %s: %d shows %q: %s", req.Method, req.URL.Path, resp.StatusCode, bad, body)
		}
	}
	return resp, nil
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// do makes a call of /v1. headers are pairs; an empty value removes one.
func (s *server) do(method, path string, body io.Reader, headers ...string) reply {
	s.t.Helper()
	req, err := s.Request(ctx(s.t), method, path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Del(headers[i]); headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return s.send(req)
}

func (s *server) send(req *http.Request) reply {
	s.t.Helper()
	resp, err := s.HTTP.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", req.Method, req.URL.Path, err, tail(s.Log()))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text), err}
}

// is checks a refusal: its status, and its code and words in the one shape.
func (r reply) is(t *testing.T, what string, status int, code schemas.Code) {
	t.Helper()
	var e schemas.ErrorBody
	if err := json.Unmarshal([]byte(r.body), &e); err != nil || r.status != status || e.Error.Code != code || e.Error.Message == "" {
		t.Errorf("%s: got %d %.300s, want %d %s", what, r.status, r.body, status, code)
	}
}

// at is a path below the sandbox's.
func (b *sandbox) at(rest string) string { return "/v1/sandboxes/" + string(b.ID) + rest }

// file is the path of a file's bytes.
func (b *sandbox) file(name string) string { return b.at("/files?path=" + url.QueryEscape(name)) }

// open begins a stream and leaves it to the caller to read.
func (b *sandbox) open(c context.Context, a args) *http.Response {
	b.t.Helper()
	body, err := json.Marshal(a)
	if err != nil {
		b.t.Fatal(err)
	}
	req, err := b.Request(c, "POST", b.at("/exec/stream"), bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.HTTP.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		b.t.Fatalf("exec/stream: %d", resp.StatusCode)
	}
	return resp
}
