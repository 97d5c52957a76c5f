package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServerImage: the server works in a container that has nothing but a volume and
// Docker's socket: no root, no capabilities, nothing else that can be written.
func TestServerImage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	if err := ready(); err != nil {
		t.Fatal(err)
	}
	socket := dockerSocket(t)
	info, err := os.Stat(socket)
	check(t, err)
	group := fmt.Sprint(info.Sys().(*syscall.Stat_t).Gid)
	name := fmt.Sprintf("mcp-sandbox-test-server-%d", os.Getpid())
	buildServerImage(t, name)
	run := []string{
		"run", "-d", "--name", name, "--hostname", "mcp-sandbox", "--network", "none", "-v", name + ":/data", "-v", socket + ":/var/run/docker.sock",
		"--read-only", "--cap-drop", "ALL", "--group-add", group, "--security-opt", "no-new-privileges",
		"-e", "AGENT_SANDBOX_API_KEYS=alice:" + aliceKey, "-e", "AGENT_SANDBOX_DEFAULT_IMAGE=" + busybox, "-e", "AGENT_SANDBOX_WARM_POOL=0",
		name, "serve",
	}
	t.Cleanup(func() {
		docker("rm", "-f", name)
		docker("volume", "rm", name)
	})
	mustDocker(t, run...)
	inside := func(args ...string) string {
		t.Helper()
		return mustDocker(t, append([]string{"exec", name, "/mcp-sandbox"}, args...)...)
	}
	eventually(t, 20*time.Second, "the server answers", func() (bool, any) {
		out, err := docker("exec", name, "/mcp-sandbox", "ls")
		return err == nil, out
	})
	if out := inside("doctor"); strings.Contains(out, "PROBLEM") {
		t.Errorf("the doctor says:\n%s", out)
	}
	pid := mustDocker(t, "inspect", "-f", "{{.State.Pid}}", name)
	status, err := os.ReadFile("/proc/" + pid + "/status")
	check(t, err)
	for _, want := range []string{"Uid:\t65532\t65532", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("it has no %q:\n%s", want, status)
		}
	}
	id := strings.TrimSpace(inside("create"))
	t.Cleanup(func() { docker("exec", name, "/mcp-sandbox", "rm", id) })
	if out := inside("exec", id, "--", "sh", "-c", "echo kept > f; cat f"); out != "kept" {
		t.Errorf("got %q", out)
	}
	// Another container on the volume goes on with it.
	mustDocker(t, "rm", "-f", name)
	mustDocker(t, run...)
	eventually(t, 20*time.Second, "the file is there", func() (bool, any) {
		out, err := docker("exec", name, "/mcp-sandbox", "exec", id, "--", "cat", "f")
		return err == nil && out == "kept", out
	})
	inside("rm", id)
	if out := inside("ls", "-o", "json"); strings.Contains(out, id) {
		t.Errorf("it is listed still: %s", out)
	}
}

// buildServerImage does what scripts/server-image does, with the program under test.
func buildServerImage(t *testing.T, name string) {
	t.Helper()
	path, err := binary()
	check(t, err)
	dir := t.TempDir()
	check(t, os.MkdirAll(filepath.Join(dir, "bin/rootfs/data"), 0o700))
	for from, to := range map[string]string{path: "bin/mcp-sandbox", "../Dockerfile": "Dockerfile", "../.dockerignore": ".dockerignore"} {
		if out, err := exec.Command("cp", from, filepath.Join(dir, to)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Cleanup(func() { docker("rmi", name) })
	mustDocker(t, "build", "-q", "-t", name, dir)
}
