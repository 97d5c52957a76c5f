package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/errors"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// theValidator is made once: that takes a while.
var theValidator = sync.OnceValues(func() (validator.Validator, []error) {
	document, err := libopenapi.NewDocument(OpenAPI())
	if err != nil {
		return nil, []error{err}
	}
	return validator.NewValidator(document)
})

func TestDocumentIsOpenAPI(t *testing.T) {
	v, errs := theValidator()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if ok, problems := v.ValidateDocument(); !ok {
		t.Error(texts(problems))
	}
}

// checked holds every answer that any test gets against the document.
type checked struct {
	t    testing.TB
	next http.RoundTripper
	mu   sync.Mutex
}

func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if err != nil || !described(req) || resp.Header.Get("Content-Type") == events.mediaType {
		return resp, err
	}
	copied := *resp
	if resp.Header.Get("Content-Type") == "application/json" {
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		copied.Body = io.NopCloser(bytes.NewReader(body))
	} else {
		copied.Body = http.NoBody
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v, errs := theValidator()
	if len(errs) > 0 {
		c.t.Fatal(errs)
	}
	if ok, problems := v.ValidateHttpResponse(req, &copied); !ok {
		c.t.Errorf("%s %s: %d: %s", req.Method, req.URL.Path, resp.StatusCode, texts(problems))
	}
	return resp, nil
}

// described: what the document does not know, 404 and 405 of the mux, cannot be
// held against it.
func described(req *http.Request) bool {
	for _, r := range routes {
		want, got := strings.Split(r.path, "/"), strings.Split(req.URL.Path, "/")
		if r.method != req.Method || len(want) != len(got) {
			continue
		}
		fits := true
		for i := range want {
			fits = fits && (want[i] == got[i] || want[i] == "{id}")
		}
		if fits {
			return true
		}
	}
	return false
}

func texts(problems []*errors.ValidationError) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Message+": "+p.Reason)
		for _, s := range p.SchemaValidationErrors {
			all = append(all, s.Reason)
		}
	}
	return strings.Join(all, "\n")
}

// eventSchema is for lines of a stream, which no OpenAPI validator looks at.
var eventSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(OpenAPI()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", document); err != nil {
		return nil, err
	}
	return c.Compile("openapi.json#/components/schemas/ExecEvent")
})

func checkEvent(t testing.TB, line []byte) {
	t.Helper()
	s, err := eventSchema()
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
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
