package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// routes are where /v1 has what the tools do. What is in braces is taken from
// the arguments; the rest is the body or, for GET, PUT and DELETE, the query.
var routes = map[string]string{
	"sandbox_create":      "POST /v1/sandboxes",
	"sandbox_list":        "GET /v1/sandboxes",
	"sandbox_set_timeout": "POST /v1/sandboxes/{sandbox_id}/timeout",
	"sandbox_destroy":     "DELETE /v1/sandboxes/{sandbox_id}",
	"exec":                "POST /v1/sandboxes/{sandbox_id}/exec",
	"exec_poll":           "GET /v1/sandboxes/{sandbox_id}/execs/{exec_id}",
	"list execs":          "GET /v1/sandboxes/{sandbox_id}/execs",
	"exec_input":          "POST /v1/sandboxes/{sandbox_id}/execs/{exec_id}/stdin",
	"exec_kill":           "DELETE /v1/sandboxes/{sandbox_id}/execs/{exec_id}",
	"signal an exec":      "POST /v1/sandboxes/{sandbox_id}/execs/{exec_id}/signal",
	"read_file":           "GET /v1/sandboxes/{sandbox_id}/files",
	"write_file":          "PUT /v1/sandboxes/{sandbox_id}/files",
	"list_files":          "GET /v1/sandboxes/{sandbox_id}/files/list",
	"snapshot":            "POST /v1/sandboxes/{sandbox_id}/snapshots",
	"snapshot_list":       "GET /v1/snapshots",
	"snapshot_delete":     "DELETE /v1/snapshots/{snapshot_id}",
	"rollback":            "POST /v1/sandboxes/{sandbox_id}/rollback",
	"fork":                "POST /v1/snapshots/{snapshot_id}/fork",
	"fork a sandbox":      "POST /v1/sandboxes/{sandbox_id}/fork",
}

// callREST runs a tool as a call of /v1.
func (c *Client) callREST(ctx context.Context, tool string, args, result any) error {
	req, err := c.request(ctx, tool, args)
	if err != nil {
		return err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s: read the answer: %w", tool, err)
	case resp.StatusCode >= 300:
		return refusal(tool, resp.StatusCode, body)
	case tool == "read_file":
		body = fileContent(body)
	case tool == "exec_input": // the answer is there to be polled for
		return c.callREST(ctx, "exec_poll", polled(args), result)
	}
	if result == nil || len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, result); err != nil {
		return fmt.Errorf("decode the answer to %s: %w in %.300s", tool, err, body)
	}
	return nil
}

// request turns a tool's arguments into a request.
func (c *Client) request(ctx context.Context, tool string, args any) (*http.Request, error) {
	var a map[string]any
	text, err := json.Marshal(args)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&a)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the arguments of %s: %w", tool, err)
	}
	input, query := shape(&tool, a)
	body := input
	method, path, found := strings.Cut(routes[tool], " ")
	if !found {
		return nil, fmt.Errorf("%s has no route", tool)
	}
	for _, id := range []string{"sandbox_id", "snapshot_id", "exec_id"} {
		if place := "{" + id + "}"; strings.Contains(path, place) {
			path = strings.Replace(path, place, url.PathEscape(fmt.Sprint(a[id])), 1)
			delete(a, id)
		}
	}
	switch {
	case method != "POST":
		for k, v := range a {
			query.Set(k, fmt.Sprint(v))
		}
	case len(a) > 0:
		if body, err = json.Marshal(a); err != nil {
			return nil, fmt.Errorf("encode the body of %s: %w", tool, err)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.Request(ctx, method, path, bytes.NewReader(body))
}

// polled are the arguments of the poll that follows an input.
func polled(input any) map[string]any {
	var a map[string]any
	text, _ := json.Marshal(input)
	_ = json.Unmarshal(text, &a)
	for _, name := range []string{"input", "input_base64", "end"} {
		delete(a, name)
	}
	if a["wait_seconds"] == nil {
		a["wait_seconds"] = 2
	}
	return a
}

// shape changes what REST has in another form; bytes of a file, or of input, are
// the body.
func shape(tool *string, a map[string]any) (body []byte, query url.Values) {
	query = url.Values{}
	switch *tool {
	case "exec", "exec/stream":
		if argv, ok := a["argv"]; ok {
			a["command"] = argv
			delete(a, "argv")
		}
	case "fork":
		if a["snapshot_id"] == nil {
			*tool = "fork a sandbox"
		}
		if a["count"] == nil { // without it, the answer has another form
			a["count"] = 1
		}
	case "exec_poll":
		if a["exec_id"] == nil {
			*tool = "list execs"
		}
	case "exec_kill":
		if a["signal"] != nil {
			*tool = "signal an exec"
		}
	case "exec_input":
		if a["end"] == true {
			query.Set("close", "true")
		}
		body = bytesOf(a, "input")
		for k := range a {
			if !strings.HasSuffix(k, "_id") {
				delete(a, k)
			}
		}
	case "write_file":
		body = bytesOf(a, "content")
	}
	return body, query
}

// bytesOf takes an argument that is text, or base64, out of the others.
func bytesOf(a map[string]any, name string) (body []byte) {
	if text, ok := a[name].(string); ok {
		body = []byte(text)
	} else if text, ok := a[name+"_base64"].(string); ok {
		body, _ = base64.StdEncoding.DecodeString(text)
	}
	delete(a, name)
	delete(a, name+"_base64")
	return body
}

// Request makes a call of /v1 with this client's key.
func (c *Client) Request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	return req, nil
}

// refusal is the error that an answer is.
func refusal(tool string, status int, body []byte) error {
	var e schemas.ErrorBody
	if err := json.Unmarshal(body, &e); err != nil || e.Error.Code == "" {
		return fmt.Errorf("%s: %d and no error of ours: %.300s", tool, status, body)
	}
	return toolError(tool, e.Error)
}

func toolError(tool string, e schemas.Error) error {
	return &ToolError{Tool: tool, Code: string(e.Code), Text: fmt.Sprintf("%s: %s (%s %s)", e.Code, e.Message, e.Hint, e.Reason)}
}

// fileContent is a file's bytes as read_file shows them.
func fileContent(body []byte) []byte {
	c := schemas.FileContent{Encoding: schemas.EncodingUTF8, Content: string(body), SizeBytes: int64(len(body))}
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		c.Encoding, c.Content = schemas.EncodingBase64, base64.StdEncoding.EncodeToString(body)
	}
	text, _ := json.Marshal(c)
	return text
}

// stream runs exec over exec/stream.
func (c *Client) stream(ctx context.Context, args any, news func(string)) (r schemas.ExecResult, err error) {
	req, err := c.request(ctx, "exec", args)
	if err != nil {
		return r, err
	}
	req.URL.Path += "/stream"
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return r, fmt.Errorf("exec/stream: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return r, refusal("exec/stream", resp.StatusCode, body)
	}
	err = Events(resp.Body, func(e Event) {
		switch e.Type {
		case "stdout":
			r.Stdout += e.Data
		case "stderr":
			r.Stderr += e.Data
		}
		news(e.Data)
		r.ExitCode, r.Signal, r.TimedOut, r.OOMKilled = e.ExitCode, e.Signal, e.TimedOut, e.OOMKilled
		r.DurationMS, r.StdoutBytes, r.StderrBytes = e.DurationMS, e.StdoutBytes, e.StderrBytes
	})
	return r, err
}

// Event is any line of a stream; its type is empty for a sign of life.
type Event struct {
	Type, Data string
	Encoding   schemas.Encoding
	Error      schemas.Error
	schemas.ExecExit
}

// Events reads a stream to its end. It is an error when the last line is an
// error, or when there is no last line.
func Events(body io.Reader, each func(Event)) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e Event
		if line := lines.Bytes(); len(line) > 0 {
			if err := json.Unmarshal(line, &e); err != nil {
				return fmt.Errorf("exec/stream: %w in %.200s", err, line)
			}
		}
		each(e)
		switch e.Type {
		case "exit":
			if lines.Scan() {
				return fmt.Errorf("exec/stream: goes on after its end with %.200s", lines.Bytes())
			}
			return lines.Err()
		case "error":
			return toolError("exec/stream", e.Error)
		}
	}
	return errors.Join(errors.New("exec/stream: cut off"), lines.Err())
}
