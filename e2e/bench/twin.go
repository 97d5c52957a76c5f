package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"sync"
)

// twin makes by Docker's own calls what a sandbox is: the same container, of the
// same image, with a volume of its own.
type twin struct {
	docker *docker
	model  about
	mu     sync.Mutex
	made   int
	names  []string
}

func (r *rig) newTwin() (*twin, error) {
	box, err := r.box(r.cold)
	if err != nil {
		return nil, err
	}
	model, err := r.docker.find(r.ctx, string(box.ID))
	if err != nil {
		return nil, err
	}
	return &twin{docker: r.docker, model: model}, r.remove(r.cold, box.ID)
}

func (t *twin) name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made++
	name := fmt.Sprintf("mcp-sandbox-bench-%s-%d", t.model.ID[:8], t.made)
	t.names = append(t.names, name)
	return name
}

// create makes volume and container and starts it.
func (t *twin) create(ctx context.Context) (name string, err error) {
	if name, err = t.make(ctx, nil); err != nil {
		return name, err
	}
	return name, t.start(ctx, name)
}

// make makes volume and container, with what is to be other than a sandbox's.
func (t *twin) make(ctx context.Context, other args) (name string, err error) {
	name = t.name()
	if err := t.docker.call(ctx, "POST", "/volumes/create", args{"Name": name}, nil); err != nil {
		return name, err
	}
	config, host := maps.Clone(t.model.Config), maps.Clone(t.model.HostConfig)
	host["Mounts"] = []args{{"Type": "volume", "Source": name, "Target": "/workspace"}}
	config["HostConfig"], config["Labels"] = host, args{}
	maps.Copy(config, other)
	return name, t.docker.call(ctx, "POST", "/containers/create?name="+name, config, nil)
}

func (t *twin) start(ctx context.Context, name string) error {
	return t.docker.call(ctx, "POST", "/containers/"+name+"/start", nil, nil)
}

// run makes the same by the docker command.
func (t *twin) run(ctx context.Context) (name string, err error) {
	name = t.name()
	cmd := exec.CommandContext(ctx, "docker", "run", "-d", "-i", "--name", name, "-v", name+":/workspace",
		"--user", "1000:1000", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--network", "none",
		"--tmpfs", "/tmp:rw,exec,nosuid,nodev,size=256m", "--shm-size", "16m", "--ipc", "private", "--cgroupns", "private",
		"--memory", "512m", "--memory-swap", "512m", "--cpus", "1", "--pids-limit", "276", "--log-driver", "none",
		"--hostname", "sandbox", "--entrypoint", "/.mcp-sandbox/guest", fmt.Sprint(t.model.Config["Image"]), "guest")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return name, fmt.Errorf("docker run: %w: %s", err, out)
	}
	return name, nil
}

// exec runs a command by the docker command.
func (t *twin) exec(ctx context.Context, container string, argv ...string) error {
	out, err := exec.CommandContext(ctx, "docker", append([]string{"exec", container}, argv...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("docker exec: %w: %s", err, out)
	}
	return nil
}

func (t *twin) remove(ctx context.Context, name string) error {
	if err := t.docker.call(ctx, "DELETE", "/containers/"+name+"?force=1", nil, nil); err != nil {
		return err
	}
	return t.docker.call(ctx, "DELETE", "/volumes/"+name, nil, nil)
}

// removeAll removes what is left.
func (t *twin) removeAll(ctx context.Context) {
	for _, name := range t.names {
		if err := t.remove(ctx, name); err != nil && strings.Contains(err.Error(), "404") {
			t.docker.call(ctx, "DELETE", "/volumes/"+name, nil, nil)
		}
	}
}
