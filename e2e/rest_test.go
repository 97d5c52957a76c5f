package e2e

import (
	"encoding/json"
	"io"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/e2e/contract"
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

// check holds every answer over /v1 against the document that the server serves.
func (s *server) check() {
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
	contractOnce.Do(func() {
		if theContract, err = contract.Read(document); err == nil {
			err = theContract.Document()
		}
	})
	if err != nil || theContract == nil {
		s.t.Fatalf("openapi.json is no OpenAPI document: %v", err)
	}
	s.HTTP.Transport = theContract.Transport(s.HTTP.Transport, func(err error) { s.t.Error(err) })
}
