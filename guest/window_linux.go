package guest

// HTTP/2 windows of what the server sends us. A stream's window is what an
// upload can have under way, and the way back and forth through Docker is long.
// But a call that does not read its body (a command that ignores its input)
// keeps its window full, and the connection's must hold those of all calls that
// may have a body at once: 48 commands, an input for each of 32 background
// execs, and the 8 uploads that the client allows itself. Otherwise a few such
// commands would stop every upload. All of them together are at most an eighth
// of the sandbox's memory, or 6 MiB where that is less.
const (
	minStreamWindow = 64 << 10
	maxStreamWindow = 256 << 10
	bodies          = 96 // that may be under way at once, and some to spare
	maxFrame        = 64 << 10
)

// windows are those of a stream and of the connection in a sandbox with so much
// memory (0: any).
func windows(memory int64) (stream, conn int) {
	if memory <= 0 {
		memory = 1 << 40
	}
	stream = int(min(max(memory/8/bodies, minStreamWindow), maxStreamWindow))
	return stream, bodies * stream
}
