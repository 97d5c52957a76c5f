package schemas

// What only REST has: the bodies that tools have as arguments, and the server's
// own state.

// MkdirRequest names a directory to make.
type MkdirRequest struct {
	Path       string `json:"path,omitempty" jsonschema_description:"Absolute within /workspace, or relative to it. Give this or path_base64."`
	PathBase64 string `json:"path_base64,omitempty" jsonschema_description:"The path's exact bytes in base64, for names that are not UTF-8."`
}

// MoveRequest renames a file or directory.
type MoveRequest struct {
	From       string `json:"from,omitempty" jsonschema_description:"What to move: absolute within /workspace, or relative to it. Give this or from_base64."`
	FromBase64 string `json:"from_base64,omitempty" jsonschema_description:"The exact bytes of from in base64, for names that are not UTF-8."`
	To         string `json:"to,omitempty" jsonschema_description:"Its new name. A file that is there is replaced, a directory is not. Give this or to_base64."`
	ToBase64   string `json:"to_base64,omitempty" jsonschema_description:"The exact bytes of to in base64, for names that are not UTF-8."`
}

// Health is whether the server can work.
type Health struct {
	Status  string `json:"status" jsonschema:"enum=ok,enum=unavailable"`
	Backend string `json:"backend" jsonschema_description:"Kind of the container backend, as docker."`
	Version string `json:"version"`
	Error   *Error `json:"error,omitempty" jsonschema_description:"Why it is unavailable."`
}

// Live is that the process serves.
type Live struct {
	Status string `json:"status" jsonschema:"enum=ok"`
}
