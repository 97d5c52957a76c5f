//go:build conformance

package conformance

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// TestSuite runs the official suite over the server's own HTTP stack. Exit code 0
// means that what fails is what the baseline says, no more and no less.
func TestSuite(t *testing.T) {
	front := withKey(t, serve(t, fixture, t.TempDir()).URL)
	for name, run := range map[string]struct {
		suite string
		what  []string
	}{
		"all":        {"conformance", []string{"--suite", "all", "--expected-failures", "baseline.yml"}},
		"2025-11-25": {"conformance-next", []string{"--requirements", "2025-11-25", "--expected-failures", "baseline-2025-11-25.yml"}},
		"2026-07-28": {"conformance-next", []string{"--requirements", "2026-07-28", "--expected-failures", "baseline-2026-07-28.yml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--import", "./node20.mjs", "node_modules/" + run.suite + "/dist/index.js", "server", "--url", front + "/mcp", "-o", t.TempDir()}
			out, code := node(t, append(args, run.what...)...)
			_, summary, found := strings.Cut(out, "=== SUMMARY ===")
			if code != 0 || !found {
				t.Errorf("exit code %d\n%s", code, out)
			}
			t.Log(summary)
		})
	}
}

// withKey lets in the suite, which cannot be given a key, and passes on all else as
// it comes.
func withKey(t *testing.T, target string) (front string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		// All of the body first: an answer that comes before its end has been seen
		// makes net/http drop both.
		body, _ := io.ReadAll(r.In.Body)
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
		r.SetURL(u)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+key)
	}})
	t.Cleanup(s.Close)
	return s.URL
}

// TestSuiteNeedsTheKey: it is the real stack that the suite is run over.
func TestSuiteNeedsTheKey(t *testing.T) {
	target := serve(t, fixture, t.TempDir()).URL
	for url, want := range map[string]int{target: http.StatusUnauthorized, withKey(t, target): http.StatusBadRequest} {
		answer, err := http.Post(url+"/mcp", "application/json", strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%d, want %d", answer.StatusCode, want)
		}
	}
}
