package dockerbackend

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

func TestNewMakesNoCall(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	b, err := New(Config{Instance: "x", SandboxUser: "1000:1000"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = b.Probe(t.Context())
	if manager.KindOf(err) != manager.KindUnavailable {
		t.Errorf("probe: %v", err)
	}
	_, err = b.PrepareImage(t.Context(), "some:image")
	if manager.KindOf(err) != manager.KindUnavailable {
		t.Errorf("prepare: %v", err)
	}
	if _, err = b.List(t.Context()); manager.KindOf(err) != manager.KindUnavailable {
		t.Errorf("list: %v", err)
	}
}

func TestGuestBinaryOfUnknownArchitecture(t *testing.T) {
	g := &guestBinaries{}
	if _, err := g.get("vax"); manager.KindOf(err) != manager.KindBackend || strings.Contains(manager.Public(err).Message, os.TempDir()) {
		t.Errorf("got %v", err)
	}
}
