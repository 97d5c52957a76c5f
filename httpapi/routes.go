package httpapi

import "github.com/mcp-sandbox/mcp-sandbox/schemas"

// route is one method of one path.
type route struct {
	method, path string
	handle       func(*call) error
	query        []string // names from [parameters]
	body         content
	status       int // on success
	result       content
	summary      string
}

const (
	sandbox  = "/v1/sandboxes/{id}"
	oneExec  = sandbox + "/execs/{exec_id}"
	snapshot = "/v1/snapshots/{id}"
)

// routes is every route there is. HEAD goes wherever GET does, OPTIONS
// everywhere; see mux.go.
var routes = []route{
	{"GET", "/healthz", health, nil, none, 200, of[schemas.Health](), "Tells whether the server and its container backend work. Needs no key."},
	{"GET", "/livez", live, nil, none, 200, of[schemas.Live](), "Tells that the process serves, whatever its backend does. Needs no key."},
	{"GET", "/metrics", metrics, nil, none, 200, text, "Prometheus metrics."},
	{"GET", "/v1/openapi.json", openAPI, nil, none, 200, document, "This document."},

	{"POST", "/v1/sandboxes", createSandbox, nil, optional[schemas.CreateSandboxRequest](), 201, of[schemas.Sandbox](), "Creates a sandbox."},
	{"GET", "/v1/sandboxes", listSandboxes, []string{"limit", "cursor"}, none, 200, of[schemas.SandboxList](), "Lists your sandboxes, oldest first."},
	{"GET", sandbox, getSandbox, nil, none, 200, of[schemas.Sandbox](), "Describes a sandbox."},
	{"DELETE", sandbox, destroySandbox, nil, none, 204, none, "Destroys a sandbox, whatever it is doing. Its snapshots stay."},
	{"POST", sandbox + "/timeout", setTimeout, nil, of[schemas.SetTimeoutRequest](), 200, of[schemas.Sandbox](), "Gives a sandbox a new time to live, counted from now."},

	{"POST", sandbox + "/exec", runExec, nil, of[schemas.ExecRequest](), 200, of[schemas.ExecResult](), "Runs a command to its end; with wait_seconds or background it may go on as a background exec. Closing the connection kills one that is waited for."},
	{"POST", sandbox + "/exec/stream", streamExec, nil, of[schemas.ExecRequest](), 200, events, "Runs a command and streams its output as it arrives. Closing the connection kills it."},
	{"GET", sandbox + "/execs", listExecs, nil, none, 200, of[schemas.ExecList](), "Lists the background execs of a sandbox, oldest first: those that run, and the last that have ended."},
	{"GET", oneExec, pollExec, []string{"cursor", "wait_seconds", "max_output_bytes", "encoding"}, none, 200, of[schemas.ExecState](), "Tells how a background exec is doing, with its output since a cursor. Reading takes nothing away from others."},
	{"DELETE", oneExec, killExec, nil, none, 204, none, "Kills a background exec with all that it started; of one that has ended, what it left running. Its output stays, and it is safe to repeat."},
	{"POST", oneExec + "/stdin", inputExec, []string{"close"}, octets, 204, none, "Writes the request's body to the standard input of a background exec."},
	{"GET", sandbox + "/terminal", openTerminal, []string{"exec_id", "command", "workdir", "term", "columns", "rows"}, none, 101, none, "Opens a terminal as a WebSocket, on a new command or on one that runs. Bytes go both ways in binary messages; see the manual for the others."},
	{"POST", oneExec + "/signal", signalExec, nil, of[schemas.SignalRequest](), 204, none, "Sends a signal to the process group of a background exec."},

	{"GET", sandbox + "/files", readFile, []string{"path", "path_base64"}, none, 200, octets, "Reads a file, or with a Range header part of it."},
	{"PUT", sandbox + "/files", writeFile, []string{"path", "path_base64", "mode"}, octets, 200, of[schemas.FileInfo](), "Replaces a file by the request's body, whole or not at all, and makes its parents."},
	{"DELETE", sandbox + "/files", deleteFile, []string{"path", "path_base64", "recursive"}, none, 204, none, "Deletes a file or directory."},
	{"GET", sandbox + "/files/list", listFiles, []string{"path", "path_base64", "limit", "cursor"}, none, 200, of[schemas.FileList](), "Lists a directory, sorted by name. Without a path, /workspace."},
	{"POST", sandbox + "/files/mkdir", makeDir, nil, of[schemas.MkdirRequest](), 200, of[schemas.FileInfo](), "Makes a directory and its parents; one that is there already is fine."},
	{"POST", sandbox + "/files/move", moveFile, nil, of[schemas.MoveRequest](), 200, of[schemas.FileInfo](), "Renames a file or directory."},
	{"GET", sandbox + "/archive", readArchive, []string{"path", "path_base64"}, none, 200, tarball, "Downloads a directory as a tar. Without a path, /workspace. Files of the sandbox's own user come whatever their mode. What belongs to others and may not be read is 403, and too much is 413, before the first byte."},
	{"PUT", sandbox + "/archive", writeArchive, []string{"path", "path_base64"}, tarball, 204, none, "Extracts a tar into a directory, over what is there. After an error part of it may have been extracted."},

	{"POST", sandbox + "/snapshots", takeSnapshot, nil, optional[schemas.SnapshotRequest](), 201, of[schemas.Snapshot](), "Saves a sandbox's /workspace."},
	{"POST", sandbox + "/rollback", rollback, nil, of[schemas.RollbackRequest](), 200, of[schemas.Sandbox](), "Puts a sandbox back to a snapshot."},
	{"POST", sandbox + "/fork", forkSandbox, nil, optional[schemas.ForkRequest](), 201, forked, "Makes sandboxes whose /workspace starts as this one's is now; a snapshot is taken first, and kept."},
	{"GET", "/v1/snapshots", listSnapshots, []string{"sandbox_id", "limit", "cursor"}, none, 200, of[schemas.SnapshotList](), "Lists your snapshots, oldest first."},
	{"POST", "/v1/snapshots", importSnapshot, []string{"image", "name"}, tarball, 201, of[schemas.Snapshot](), "Makes a snapshot of a tar that is uploaded."},
	{"GET", snapshot, getSnapshot, nil, none, 200, of[schemas.Snapshot](), "Describes a snapshot."},
	{"DELETE", snapshot, deleteSnapshot, nil, none, 204, none, "Deletes a snapshot. Sandboxes made from it stay."},
	{"GET", snapshot + "/archive", exportSnapshot, nil, none, 200, tarball, "Downloads a snapshot as a tar."},
	{"POST", snapshot + "/fork", forkSnapshot, nil, optional[schemas.ForkRequest](), 201, forked, "Makes sandboxes whose /workspace starts as a snapshot."},
}

// free of keys are two routes, for whoever watches the server.
func free(path string) bool { return path == "/healthz" || path == "/livez" }
