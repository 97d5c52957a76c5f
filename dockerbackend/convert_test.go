package dockerbackend

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// TestConvert freezes all that Docker is told about a sandbox. Read the diff of
// the golden files as what changes for every sandbox: go test -run Convert -update
func TestConvert(t *testing.T) {
	plain := site{instance: "instance-1", user: owner{1000, 1000}, network: "agent-sandbox-net", tmpMB: 256, cpus: 8}
	gvisor := plain
	gvisor.runtime, gvisor.user, gvisor.cpus = "runsc", owner{2000, 3000}, 2
	image := manager.Image{ID: "sha256:0123", Env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}}
	odd := manager.Image{ID: "sha256:4567", Env: []string{"A=b=c", "EMPTY=", "NONE"}, Volumes: []string{"/data", "cache/", "/var/lib/../lib/x", "/workspace/", "/tmp"}}
	spec := manager.Spec{Image: "python:3.12-slim", CPUs: 1, MemoryMB: 512, PidsLimit: 256, ReadOnlyRootfs: true, Env: map[string]string{"SECRET": "never in the container's settings"}}
	network, open := spec, spec
	network.Network, network.CPUs, network.MemoryMB = true, 0.5, 64
	open.ReadOnlyRootfs, open.CPUs = false, 4
	for _, c := range []struct {
		name  string
		site  site
		spec  manager.Spec
		image manager.Image
		fresh bool
	}{
		{"default", plain, spec, image, true},
		{"again-on-its-volume", plain, spec, image, false},
		{"network-small", plain, network, image, true},
		{"odd-image-writable-gvisor", gvisor, open, odd, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ref := manager.Ref{Container: "sb_1-1", Volume: "sb_1-1", Key: "never here"}
			golden(t, c.name, map[string]any{
				"container": containerConfig(c.site, c.spec, c.image, "creation-1"),
				"host":      hostConfig(c.site, ref, c.spec, c.image, c.fresh),
				"volume":    volumeOptions(c.site, ref.Volume, "creation-1"),
			})
		})
	}
	t.Run("network-options", func(t *testing.T) { golden(t, "network-options", networkOptions("instance-1")) })
}

func golden(t *testing.T, name string, got any) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	file := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}
