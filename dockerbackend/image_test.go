package dockerbackend

import (
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"
	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

func TestReferences(t *testing.T) {
	for _, good := range []string{"a", "python:3.12-slim", "r.example:5000/a/b@sha256:" + strings.Repeat("0", 64), "sha256:" + strings.Repeat("0", 64)} {
		if _, err := parseReference(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", " ", "UPPER", "a b", "a:", "../a", "-a", "a@sha256:1", "a\x00b", "a;b", strings.Repeat("a", 300)} {
		if _, err := parseReference(bad); manager.KindOf(err) != manager.KindInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestUnfitImages(t *testing.T) {
	with := func(volumes ...string) *dockerspec.DockerOCIImageConfig {
		c := &dockerspec.DockerOCIImageConfig{}
		c.Volumes = map[string]struct{}{}
		for _, v := range volumes {
			c.Volumes[v] = struct{}{}
		}
		return c
	}
	for _, c := range []struct {
		image image.InspectResponse
		fit   bool
	}{
		{image.InspectResponse{Os: "linux", Architecture: "amd64"}, true},
		{image.InspectResponse{}, true},
		{image.InspectResponse{Os: "linux", Architecture: "386"}, true},
		{image.InspectResponse{Os: "linux", Architecture: "arm64"}, false},
		{image.InspectResponse{Os: "windows", Architecture: "amd64"}, false},
		{image.InspectResponse{Config: with("/data", "/workspace", "/tmp")}, true},
		{image.InspectResponse{Config: with("/")}, false},
		{image.InspectResponse{Config: with("/x/../.mcp-sandbox/")}, false},
	} {
		err := checkImage("some/image", c.image, "amd64")
		if (err == nil) != c.fit {
			t.Errorf("%+v: %v", c.image, err)
		}
		if err != nil && (manager.KindOf(err) != manager.KindInvalid || !strings.Contains(err.Error(), "some/image")) {
			t.Errorf("%+v: %v", c.image, err)
		}
	}
}

func TestReferencesAreNormalised(t *testing.T) {
	for ref, want := range map[string]string{
		"python": "docker.io/library/python:latest", "docker.io/library/python:latest": "docker.io/library/python:latest",
		"r.example/a:1": "r.example/a:1", "sha256:" + strings.Repeat("0", 64): "sha256:" + strings.Repeat("0", 64),
	} {
		if got, err := parseReference(ref); err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v", ref, got, err)
		}
		if isID(ref) != strings.HasPrefix(ref, "sha256:") {
			t.Errorf("%s: taken for an ID, or not", ref)
		}
	}
}
