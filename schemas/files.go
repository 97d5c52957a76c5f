package schemas

import "time"

// FileType is the kind of a directory entry.
type FileType string

const (
	TypeFile      FileType = "file"
	TypeDirectory FileType = "directory"
	TypeSymlink   FileType = "symlink"
	TypeOther     FileType = "other"
)

// FileInfo describes one path in a sandbox.
type FileInfo struct {
	Name       string    `json:"name"`
	Path       string    `json:"path"`
	NameBase64 string    `json:"name_base64,omitempty" jsonschema_description:"The exact bytes of a name that is not UTF-8."`
	PathBase64 string    `json:"path_base64,omitempty" jsonschema_description:"The exact bytes of a path that is not UTF-8."`
	Type       FileType  `json:"type" jsonschema:"enum=file,enum=directory,enum=symlink,enum=other"`
	Size       int64     `json:"size"`
	Mode       string    `json:"mode" jsonschema_description:"Permission bits in octal, as 644."`
	ModifiedAt time.Time `json:"modified_at"`
	LinkTarget string    `json:"link_target,omitempty"`
}

// FileList is a page of a directory, sorted by name.
type FileList struct {
	Path       string     `json:"path"`
	Entries    []FileInfo `json:"entries"`
	NextCursor string     `json:"next_cursor,omitempty" jsonschema_description:"Pass as cursor for the next page; absent on the last one."`
}
