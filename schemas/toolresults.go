package schemas

// What MCP tools return where REST answers with bytes or with nothing.

// FileContent is part of a file that read_file returned.
type FileContent struct {
	Path       string   `json:"path"`
	SizeBytes  int64    `json:"size_bytes" jsonschema_description:"Size of the whole file."`
	Encoding   Encoding `json:"encoding" jsonschema:"enum=utf-8,enum=base64" jsonschema_description:"base64 when the content is binary."`
	Content    string   `json:"content"`
	Offset     int64    `json:"offset" jsonschema_description:"Lines (bytes for base64) before the content."`
	Lines      *int64   `json:"lines" jsonschema_description:"Lines in the content, for text."`
	TotalLines *int64   `json:"total_lines" jsonschema_description:"Lines in the whole file, where that was cheap to count."`
	NextOffset *int64   `json:"next_offset" jsonschema_description:"Pass as offset to go on; absent at the end of the file."`
	CutLine    bool     `json:"cut_line,omitempty" jsonschema_description:"Whether the last line is longer than a page and was cut."`
	CutAt      int64    `json:"cut_at,omitempty" jsonschema_description:"How many characters of a cut line are in the content."`
	Truncated  bool     `json:"truncated" jsonschema_description:"Whether the file goes on after the content, or a line was cut."`
}

// Edited is what edit_file did.
type Edited struct {
	File         FileInfo `json:"file"`
	Replacements int      `json:"replacements"`
}

// Destroyed names a sandbox that is gone.
type Destroyed struct {
	SandboxID SandboxID `json:"sandbox_id"`
	Destroyed bool      `json:"destroyed"`
}

// Deleted names a snapshot that is gone.
type Deleted struct {
	SnapshotID SnapshotID `json:"snapshot_id"`
	Deleted    bool       `json:"deleted"`
}
