package dockerbackend

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

//go:generate env CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -trimpath -buildvcs=false -ldflags "-s -w" -o guestbin/guest-linux-amd64 ../cmd/sandbox-guest
//go:generate env CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build -trimpath -buildvcs=false -ldflags "-s -w" -o guestbin/guest-linux-arm64 ../cmd/sandbox-guest

//go:embed guestbin
var embedded embed.FS

// guestBinary is a program that can be PID 1 of a sandbox.
type guestBinary struct {
	content []byte
	hash    string // of content, in hex
}

// guestBinaries finds the guest for an architecture, and remembers it.
type guestBinaries struct {
	path string // if set, the one to use

	mu    sync.Mutex
	found map[string]guestBinary
}

func (g *guestBinaries) get(arch string) (guestBinary, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if bin, ok := g.found[arch]; ok {
		return bin, nil
	}
	content, err := g.read(arch)
	if err != nil {
		return guestBinary{}, &manager.Error{
			Kind: manager.KindBackend, Message: "this server holds no guest program for linux/" + arch,
			Hint: "Build the server after `go generate ./dockerbackend`.", Cause: err,
		}
	}
	sum := sha256.Sum256(content)
	bin := guestBinary{content, hex.EncodeToString(sum[:])}
	if g.found == nil {
		g.found = map[string]guestBinary{}
	}
	g.found[arch] = bin
	return bin, nil
}

func (g *guestBinaries) read(arch string) ([]byte, error) {
	if g.path != "" {
		return os.ReadFile(g.path)
	}
	content, err := embedded.ReadFile("guestbin/guest-linux-" + arch)
	if err == nil {
		return content, nil
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != arch {
		return nil, err
	}
	return ownExecutable()
}

// ownExecutable is the running server, which is a guest too when its first
// argument says so. It must be static: an image need not have a loader.
func ownExecutable() ([]byte, error) {
	content, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("read own executable: %w", err)
	}
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("parse own executable: %w", err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("own executable is not static; build it with CGO_ENABLED=0")
		}
	}
	return content, nil
}
