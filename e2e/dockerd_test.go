package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
)

// dockerd is a Docker daemon of a test's own, with its data on a small disk of its
// own: it may be stopped, killed, frozen and filled without harm to anybody.
type dockerd struct {
	t    *testing.T
	dir  string // with its data, and all else that it has
	data string // mount point of the disk
	conf string // its configuration, in JSON
	cmd  *exec.Cmd
	gone chan struct{} // closed when cmd has ended
}

// startDockerd starts one with a disk of so many MiB, and gives it the image of
// these tests. It takes root, as dockerd does.
func startDockerd(t *testing.T, megabytes int) *dockerd {
	t.Helper()
	return startDockerdWith(t, megabytes, "{}", busybox)
}

// startDockerdWith gives it a configuration, as in daemon.json, and some images.
func startDockerdWith(t *testing.T, megabytes int, conf string, images ...string) *dockerd {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	if err := ready(); err != nil {
		t.Fatal(err)
	}
	asRoot(t, "run a Docker daemon")
	// Not in t.TempDir, whose path may be too long for a socket.
	dir, err := os.MkdirTemp("", "dockerd-")
	check(t, err)
	d := &dockerd{t: t, dir: dir, data: filepath.Join(dir, "data"), conf: conf}
	t.Cleanup(d.finish)
	check(t, os.Mkdir(d.data, 0o700))
	d.mount(megabytes)
	d.start()
	load := exec.Command("sh", "-c", "docker save "+strings.Join(images, " ")+" | docker --host "+d.host()+" load")
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("load the images: %v\n%s", err, out)
	}
	return d
}

// mount gives the daemon a disk in a file or, where there are no loop devices, in
// memory (which then counts as that of the sandboxes that write to it).
func (d *dockerd) mount(megabytes int) {
	d.t.Helper()
	disk := filepath.Join(d.dir, "disk")
	check(d.t, os.WriteFile(disk, nil, 0o600))
	check(d.t, os.Truncate(disk, int64(megabytes)<<20))
	out, err := exec.Command("mkfs.ext4", "-q", "-m", "0", disk).CombinedOutput()
	if err == nil {
		out, err = exec.Command("mount", "-o", "loop", disk, d.data).CombinedOutput()
	}
	if err != nil {
		d.t.Logf("no disk in a file: %v %s", err, out)
		check(d.t, unix.Mount("tmpfs", d.data, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=711", megabytes)))
	}
}

func (d *dockerd) host() string { return "unix://" + filepath.Join(d.dir, "docker.sock") }

func (d *dockerd) docker(args ...string) (string, error) {
	return docker(append([]string{"--host", d.host()}, args...)...)
}

// start starts the daemon, again after it was ended.
func (d *dockerd) start() {
	d.t.Helper()
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(d.t, err)
	defer log.Close()
	// What one that was killed has left would be taken for one that runs.
	d.endContainerd(syscall.SIGKILL)
	os.Remove(d.pidFile())
	os.Remove(d.containerdFile())
	check(d.t, os.WriteFile(filepath.Join(d.dir, "daemon.json"), []byte(d.conf), 0o600))
	d.cmd = exec.Command("dockerd", "--config-file", filepath.Join(d.dir, "daemon.json"), "--host", d.host(), "--data-root", d.data, "--exec-root", filepath.Join(d.dir, "exec"),
		"--pidfile", d.pidFile(), "--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	// A network of its own: one without a bridge removes docker0, whosesoever it is.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	check(d.t, d.cmd.Start())
	cmd, gone := d.cmd, make(chan struct{})
	d.gone = gone
	go func() {
		cmd.Wait()
		close(gone)
	}()
	eventually(d.t, 60*time.Second, "a Docker daemon of our own answers", func() (bool, any) {
		out, err := d.docker("version", "--format", "{{.Server.Version}}")
		return err == nil, []any{out, tail(d.log())}
	})
}

// serve runs a server on the daemon.
func (d *dockerd) serve(t *testing.T) *server {
	t.Helper()
	s := launch(t, program{door: client.REST, dockerHost: d.host(), env: []string{"AGENT_SANDBOX_API_KEYS=alice:" + aliceKey}}, "--reap-interval-seconds=1")
	b := s.create()
	if n := len(s.containers()); n != 1 {
		t.Fatalf("its first sandbox has %d containers on the daemon", n)
	}
	check(t, s.destroy(b.ID))
	return s
}

func (d *dockerd) pidFile() string { return filepath.Join(d.dir, "pid") }

func (d *dockerd) log() string {
	text, _ := os.ReadFile(filepath.Join(d.dir, "log"))
	return string(text)
}

func (d *dockerd) signal(s syscall.Signal) { d.cmd.Process.Signal(s) }

// end ends the daemon by a signal, and waits for its end. Its containers end with
// it, or when the next one starts.
func (d *dockerd) end(s syscall.Signal) {
	d.t.Helper()
	d.signal(s)
	select {
	case <-d.gone:
	case <-time.After(60 * time.Second):
		d.t.Errorf("dockerd does not end on %v", s)
		d.signal(syscall.SIGKILL)
		<-d.gone
	}
}

// finish removes all of it.
func (d *dockerd) finish() {
	if d.cmd != nil {
		d.signal(syscall.SIGCONT)
		d.end(syscall.SIGTERM)
		d.endContainerd(syscall.SIGTERM)
		d.endShims()
	}
	if d.t.Failed() {
		d.t.Logf("dockerd: %s", tail(d.log()))
	}
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if at := strings.Fields(line)[1]; strings.HasPrefix(at, d.dir+"/") {
			exec.Command("umount", "--lazy", "--detach-loop", at).Run()
		}
	}
	if err := os.RemoveAll(d.dir); err != nil {
		d.t.Errorf("remove what dockerd had: %v", err)
	}
}

func (d *dockerd) containerdFile() string {
	return filepath.Join(d.dir, "exec", "containerd", "containerd.pid")
}

// containerd is the process that the daemon has started; 0 if it has not. A zombie,
// whose program /proc does not tell, is not alive.
func (d *dockerd) containerd() (pid int, alive bool) {
	text, err := os.ReadFile(d.containerdFile())
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, false
	}
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return pid, filepath.Base(program) == "containerd"
}

// endContainerd ends the daemon's containerd, should it have outlived it.
func (d *dockerd) endContainerd(s syscall.Signal) {
	pid, alive := d.containerd()
	if !alive {
		return
	}
	syscall.Kill(pid, s)
	eventually(d.t, 20*time.Second, "containerd ends", func() (bool, any) {
		_, alive := d.containerd()
		return !alive, pid
	})
}

// endShims ends what a containerd that was killed has left: a process for each
// container that it ran.
func (d *dockerd) endShims() {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range commands {
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "containerd-shim") || !strings.Contains(string(text), d.dir+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
