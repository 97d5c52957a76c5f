package tools

// What a result may weigh. Claude Code puts results over 50 000 characters into a
// file and shows their first 2 KB; others cut at 25 000 tokens or near there. A
// result says its output twice, so these are halves that fit together. Characters
// are counted as they appear in JSON, where a newline takes two.
const (
	defaultStreamBytes = 20_000  // of stdout and of stderr
	maxStreamBytes     = 200_000 // that max_output_bytes may ask for

	// stdout and stderr together, in each of the two
	execChars    = 24_000
	maxExecChars = 245_000 // for who asks for more than defaultStreamBytes

	readFileChars = 23_000 // a file's content, in each of the two
	listChars     = 45_000 // entries in both together

	maxResourceBytes  = 512 << 10 // a file read as a resource
	maxImageBytes     = 1 << 20   // images larger than this come as bytes
	countLinesUpTo    = 1 << 20   // size of a file whose lines are counted to the end
	progressTextBytes = 8 << 10   // output in one progress notification
)

// maxResultChars is how far a caller who raises max_output_bytes may get; Claude
// Code reads it from the tool's metadata.
const maxResultChars = 500_000
