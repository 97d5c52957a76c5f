package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/contract"
)

// theContract is read once: that takes a while.
var theContract = sync.OnceValues(func() (*contract.Contract, error) { return contract.Read(OpenAPI()) })

func readContract(t testing.TB) *contract.Contract {
	t.Helper()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDocumentIsOpenAPI(t *testing.T) {
	if err := readContract(t).Document(); err != nil {
		t.Error(err)
	}
}

// checked holds every answer that any test gets against the document.
func checked(t testing.TB, next http.RoundTripper) http.RoundTripper {
	return readContract(t).Transport(next, func(err error) { t.Error(err) })
}

func TestDocumentSaysWhatItShould(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID, Summary string }
		Components struct {
			Schemas map[string]struct {
				Properties           map[string]struct{ Type any }
				AdditionalProperties *bool
			}
		}
	}
	if err := json.Unmarshal(OpenAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, r := range routes {
		op := doc.Paths[r.path][strings.ToLower(r.method)]
		if op.OperationID == "" || ids[op.OperationID] || op.Summary != r.summary {
			t.Errorf("%s %s: %+v", r.method, r.path, op)
		}
		ids[op.OperationID] = true
	}
	s := doc.Components.Schemas
	if got := s["Sandbox"].Properties["source_snapshot_id"].Type; len(got.([]any)) != 2 {
		t.Errorf("source_snapshot_id is %v; want it to allow null", got)
	}
	if s["Sandbox"].AdditionalProperties != nil || s["ExecRequest"].AdditionalProperties == nil {
		t.Error("requests are closed and answers are open; got something else")
	}
}
