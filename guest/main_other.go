//go:build !linux

package guest

import (
	"fmt"
	"os"
)

// Main is for Linux only; sandboxes are Linux containers wherever the server
// runs.
func Main() {
	fmt.Fprintln(os.Stderr, "the sandbox guest runs on Linux only")
	os.Exit(2)
}
