package schemas

// OutputEvent is output of a streamed command.
type OutputEvent struct {
	Type     Stream   `json:"type" jsonschema:"enum=stdout,enum=stderr"`
	Data     string   `json:"data" jsonschema_description:"Text, in which no character is split over two events; or base64, each event's by itself."`
	Encoding Encoding `json:"encoding,omitempty" jsonschema:"enum=base64" jsonschema_description:"base64 when the request asked for it; absent for text."`
}

// ExitEvent is the last line of a stream whose command ended.
type ExitEvent struct {
	Type string `json:"type" jsonschema:"enum=exit"`
	ExecExit
}

// ErrorEvent is the last line of a stream whose command could not be seen to its
// end.
type ErrorEvent struct {
	Type  string `json:"type" jsonschema:"enum=error"`
	Error Error  `json:"error"`
}
