package contract_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/contract"
	"github.com/mcp-sandbox/mcp-sandbox/httpapi"
)

// TestTransport: what the document does not allow is reported, and nothing else.
func TestTransport(t *testing.T) {
	c, err := contract.Read(httpapi.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []struct {
		path, contentType, body string
		bad                     bool
	}{
		{"/livez", "application/json", `{"status":"ok"}`, false},
		{"/livez", "application/json", `{"status":"dead"}`, true},
		{"/livez", "text/plain", `ok`, true},
		{"/v1/snapshots", "application/json", `{"snapshots":[{"id":5}]}`, true},
		{"/v1/none", "text/plain", `ok`, false}, // not in the document
		{"/v1/sandboxes", "application/x-ndjson", "{\"type\":\"stdout\",\"data\":\"a\"}\n\n", false},
		{"/v1/sandboxes", "application/x-ndjson", "\n{\"type\":\"stdout\"}\n", true},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", answer.contentType)
			_, _ = io.WriteString(w, answer.body)
		}))
		var reported []error
		client := &http.Client{Transport: c.Transport(http.DefaultTransport, func(err error) { reported = append(reported, err) })}
		resp, err := client.Get(srv.URL + answer.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || strings.TrimSpace(string(body)) != strings.TrimSpace(answer.body) {
			t.Errorf("%+v: got %q, %v", answer, body, err)
		}
		if (len(reported) > 0) != answer.bad {
			t.Errorf("%+v: reported %v", answer, reported)
		}
		srv.Close()
	}
}
