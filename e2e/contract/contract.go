// Package contract holds answers of the /v1 HTTP API against its own OpenAPI
// document.
package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	problem "github.com/pb33f/libopenapi-validator/errors"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Contract is an OpenAPI document that answers can be held against.
type Contract struct {
	routes []route
	event  *jsonschema.Schema // of the lines of a stream, which no validator of OpenAPI looks at

	mu        sync.Mutex
	validator validator.Validator
}

type route struct {
	method string
	path   []string
}

// Read takes a while.
func Read(document []byte) (*Contract, error) {
	c := &Contract{}
	var outline struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(document, &outline); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	for path, methods := range outline.Paths {
		for method := range methods {
			c.routes = append(c.routes, route{strings.ToUpper(method), strings.Split(path, "/")})
		}
	}
	parsed, err := libopenapi.NewDocument(document)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	var errs []error
	if c.validator, errs = validator.NewValidator(parsed); len(errs) > 0 {
		return nil, fmt.Errorf("read the document: %w", errors.Join(errs...))
	}
	c.event, err = eventSchema(document)
	return c, err
}

func eventSchema(document []byte) (*jsonschema.Schema, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", parsed); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return compiler.Compile("openapi.json#/components/schemas/ExecEvent")
}

// Document checks the document itself.
func (c *Contract) Document() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, problems := c.validator.ValidateDocument()
	return joined(problems)
}

// Event checks a line of a stream.
func (c *Contract) Event(line []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err == nil {
		err = c.event.Validate(v)
	}
	if err != nil {
		return fmt.Errorf("event %.300s: %w", line, err)
	}
	return nil
}

// Transport is next, with every answer checked.
func (c *Contract) Transport(next http.RoundTripper, report func(error)) http.RoundTripper {
	return &transport{c, next, report}
}

type transport struct {
	*Contract
	next   http.RoundTripper
	report func(error)
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil || !t.described(req) {
		return resp, err
	}
	copied := *resp
	copied.Body = http.NoBody
	switch resp.Header.Get("Content-Type") {
	case "application/x-ndjson":
		resp.Body = &eventLines{ReadCloser: resp.Body, transport: t}
		return resp, nil
	case "application/json":
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		copied.Body = io.NopCloser(bytes.NewReader(body))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, problems := t.validator.ValidateHttpResponse(req, &copied); len(problems) > 0 {
		t.report(fmt.Errorf("%s %s: %d: %w", req.Method, req.URL.Path, resp.StatusCode, joined(problems)))
	}
	return resp, nil
}

// described: what the document does not know, 404 and 405 for no route of it,
// cannot be held against it.
func (c *Contract) described(req *http.Request) bool {
	got := strings.Split(req.URL.Path, "/")
	for _, r := range c.routes {
		fits := r.method == req.Method && len(r.path) == len(got)
		for i := 0; fits && i < len(got); i++ {
			fits = r.path[i] == got[i] || r.path[i] == "{id}"
		}
		if fits {
			return true
		}
	}
	return false
}

// eventLines is a stream whose lines are checked as they are read.
type eventLines struct {
	io.ReadCloser
	*transport
	rest []byte
}

func (l *eventLines) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.rest = append(l.rest, p[:n]...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return n, err
		}
		if len(line) > 0 {
			if err := l.Event(line); err != nil {
				l.report(err)
			}
		}
		l.rest = rest
	}
}

func joined(problems []*problem.ValidationError) error {
	var all []error
	for _, p := range problems {
		all = append(all, fmt.Errorf("%s: %s", p.Message, p.Reason))
		for _, s := range p.SchemaValidationErrors {
			all = append(all, errors.New(s.Reason))
		}
	}
	return errors.Join(all...)
}
