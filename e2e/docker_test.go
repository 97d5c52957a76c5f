package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// docker runs Docker's own command, so that the daemon is seen as an operator
// sees it, and not by our own client.
func docker(args ...string) (string, error) {
	out, err := exec.Command("docker", args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func mustDocker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := docker(args...)
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// docker is Docker's own command, put to the server's daemon, past a filter.
func (p *program) docker(args ...string) (string, error) {
	if p.dockerHost != "" && !p.filtered {
		args = append([]string{"--host", p.dockerHost}, args...)
	}
	return docker(args...)
}

func (s *server) mustDocker(args ...string) string {
	s.t.Helper()
	out, err := s.docker(args...)
	if err != nil {
		s.t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// containers and volumes are what there is of this server, by its label.
func (s *server) containers() []string { return s.found("ps", "-aq") }
func (s *server) volumes() []string    { return s.found("volume", "ls", "-q") }

func (s *server) found(args ...string) []string {
	s.t.Helper()
	out, err := s.docker(append(args, "--filter", "label=io.agent-sandbox.instance="+s.instance)...)
	if err != nil {
		s.t.Errorf("docker %v: %v %s", args, err, out)
	}
	return strings.Fields(out)
}

// containerOf is the one container of a sandbox, by the ID in its name.
func (s *server) containerOf(id string) string {
	s.t.Helper()
	var found []string
	for _, c := range s.containers() {
		if name, _ := s.docker("inspect", "-f", "{{.Name}}", c); strings.Contains(name, strings.TrimPrefix(id, "sb_")) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("sandbox %s has %d containers %v", id, len(found), found)
	}
	return found[0]
}

// volumeOf is the volume of a sandbox's container.
func (s *server) volumeOf(id string) string {
	s.t.Helper()
	return s.mustDocker("inspect", "-f", `{{range .Mounts}}{{if eq .Destination "/workspace"}}{{.Name}}{{end}}{{end}}`, s.containerOf(id))
}

// inspection is the part of "docker inspect" that says how a container is closed in.
type inspection struct {
	Config struct {
		User, Hostname string
		Env            []string
		Labels         map[string]string
		Healthcheck    any
	}
	HostConfig struct {
		Binds, CapAdd, CapDrop, SecurityOpt             []string
		NetworkMode, IpcMode, PidMode, UTSMode, Runtime string
		Privileged, ReadonlyRootfs, PublishAllPorts     bool
		Memory, MemorySwap, NanoCpus, ShmSize, CpuQuota int64
		CpuPeriod                                       int64
		PidsLimit                                       *int64
		LogConfig                                       struct{ Type string }
		RestartPolicy                                   struct{ Name string }
		Devices                                         []any
		Tmpfs                                           map[string]string
	}
	Mounts []struct {
		Type, Name, Destination string
		RW                      bool
	}
}

func (s *server) inspect(id string) inspection {
	s.t.Helper()
	var all []inspection
	raw := s.mustDocker("inspect", s.containerOf(id))
	if err := json.Unmarshal([]byte(raw), &all); err != nil || len(all) != 1 {
		s.t.Fatalf("read docker inspect: %v in %s", err, raw)
	}
	return all[0]
}

// leftovers describes what a server left in Docker, and removes it.
func (s *server) leftovers() (left []string) {
	for _, c := range s.containers() {
		name, _ := s.docker("inspect", "-f", "{{.Name}} ({{.State.Status}})", c)
		left = append(left, "container "+name)
		s.docker("rm", "-f", c)
	}
	for _, v := range s.volumes() {
		left = append(left, fmt.Sprint("volume ", v))
		s.docker("volume", "rm", "-f", v)
	}
	return left
}
