package dockerbackend

import (
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/guest/archive"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// What the server compresses for a guest must be what the guest takes.
func TestWindowOfTheContractIsTheGuests(t *testing.T) {
	if manager.MaxWindow > archive.MaxWindow {
		t.Errorf("the manager compresses with a window of up to %d, the guest takes %d", manager.MaxWindow, archive.MaxWindow)
	}
}
