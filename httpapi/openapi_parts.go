package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// parametersOf are those in the path, the query and the headers.
func parametersOf(r route) (all []any) {
	if strings.Contains(r.path, "{id}") {
		prefix := "sb"
		if strings.HasPrefix(r.path, snapshot) {
			prefix = "snap"
		}
		all = append(all, object{
			"name": "id", "in": "path", "required": true,
			"schema": object{"type": "string", "pattern": "^" + prefix + "_[0-9a-f]{16}$"},
		})
	}
	if strings.Contains(r.path, "{exec_id}") {
		all = append(all, object{
			"name": "exec_id", "in": "path", "required": true,
			"schema": object{"type": "string", "pattern": "^ex_[0-9a-f]{16}$"},
		})
	}
	for _, name := range r.query {
		p := parameterOf(r, name)
		all = append(all, object{"name": name, "in": "query", "description": p.description, "schema": p.schema()})
	}
	if r.result.mediaType == octets.mediaType {
		all = append(all, object{
			"name": "Range", "in": "header", "description": "One range of bytes, as bytes=0-99, bytes=100- or bytes=-100.",
			"schema": object{"type": "string"},
		})
	}
	return all
}

// answer is what a route answers with a body of its own: not the errors' common one.
type answer struct {
	status      int
	content     content
	description string
}

// answersOf begins with the usual one.
func answersOf(r route) []answer {
	usual := answer{r.status, r.result, "Done."}
	switch {
	case r.path == "/healthz":
		return []answer{usual, {http.StatusServiceUnavailable, r.result, "The container backend cannot work now; error says why."}}
	case r.path == sandbox+"/exec":
		return []answer{usual, {http.StatusAccepted, of[schemas.ExecState](), "The command goes on as a background exec."}}
	case r.path == sandbox+"/files" && r.method == http.MethodGet:
		return []answer{usual, {http.StatusPartialContent, octets, "The part that the Range header asked for."}}
	case strings.HasSuffix(r.path, "/fork"):
		usual.description = "Without count, the Sandbox. With count, also when that is 1, a ForkResult: this status says that at least one could be made, and errors has why others could not. When none could, the answer is the first failure."
	}
	return []answer{usual}
}

// failuresOf are the statuses that a route can fail with.
func failuresOf(r route) []int {
	if free(r.path) {
		return []int{400, 403, 500}
	}
	if !strings.HasPrefix(r.path, "/v1/s") {
		return []int{400, 401, 403, 404, 429, 500}
	}
	all := []int{400, 401, 403, 404, 429, 500, 502, 503}
	if r.body.mediaType != "" || r.path == sandbox+"/archive" {
		all = append(all, 413)
	}
	if strings.HasPrefix(r.path, sandbox+"/") || r.method != "GET" || r.result.mediaType == tarball.mediaType {
		all = append(all, 409, 507)
	}
	if strings.HasPrefix(r.path, sandbox+"/") {
		all = append(all, 410)
	}
	if r.result.mediaType == octets.mediaType {
		all = append(all, 413, 416)
	}
	return all
}

// failures describe each status once, for all routes.
func failures() object {
	all := object{}
	for code, f := range forms {
		all[strconv.Itoa(f.status)] = failure(http.StatusText(f.status)+": "+string(code)+".", code)
	}
	all["416"] = failure("The file has nothing in that range: invalid_request.", schemas.CodeInvalidRequest)
	return all
}

func failure(description string, code schemas.Code) object {
	o := object{
		"description": description,
		"content":     object{"application/json": object{"schema": object{"$ref": "#/components/schemas/ErrorBody"}}},
	}
	header := func(name, about string) {
		o["headers"] = object{name: object{"description": about, "schema": object{"type": "string"}}}
	}
	switch code {
	case schemas.CodeUnauthorized:
		header("WWW-Authenticate", "Always Bearer.")
	case schemas.CodeLimitExceeded, schemas.CodeBackendUnavailable:
		header("Retry-After", "Seconds to wait before trying again.")
	}
	return o
}
