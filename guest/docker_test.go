//go:build linux

package guest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// The guest as what it is for: PID 1 of a container with every limit set, from
// an image with nothing but a static busybox, attached to with the docker
// command. Where there is no Docker these tests fail, unless -short.
func newContainer(t testing.TB, flags ...string) *machine {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Docker")
	}
	image := containerImage(t)
	m := &machine{t: t, workspace: protocol.Workspace, isolated: true}
	rand.Read(m.key[:])
	args := append([]string{"run", "-d", "-i", "--log-driver", "none", "--read-only", "--user", "1000:1000",
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none",
		"--tmpfs", "/tmp:exec,size=16m", "-v", "/workspace"}, flags...)
	m.container = docker(t, append(args, image)...)
	t.Cleanup(func() { exec.Command("docker", "rm", "-f", "-v", m.container).Run() })
	return m
}

func docker(t testing.TB, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("docker", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// containerImage makes the image and removes it when the test ends.
func containerImage(t testing.TB) string {
	binary := filepath.Join(t.TempDir(), "guest")
	build := exec.Command("go", "build", "-o", binary, "../cmd/sandbox-guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	busybox, err := exec.LookPath("busybox")
	check(t, err)
	tag := fmt.Sprintf("guest-test:%d-%d", os.Getpid(), time.Now().UnixNano())
	cmd := exec.Command("docker", "import", "-c", `ENTRYPOINT ["/guest"]`, "-c", "ENV PATH=/bin", "-", tag)
	cmd.Stdin = imageTar(t, binary, busybox)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("import the image: %v\n%s", err, out)
	}
	t.Cleanup(func() { exec.Command("docker", "rmi", "-f", tag).Run() })
	return tag
}

func imageTar(t testing.TB, guest, busybox string) io.Reader {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, content []byte) {
		h.Size = int64(len(content))
		check(t, w.WriteHeader(&h))
		_, err := w.Write(content)
		check(t, err)
	}
	for name, path := range map[string]string{"guest": guest, "bin/busybox": busybox} {
		content, err := os.ReadFile(path)
		check(t, err)
		add(tar.Header{Name: name, Mode: 0o755}, content)
	}
	for _, applet := range strings.Fields("sh echo cat true sleep setsid yes head tail kill wc env id nice ls seq dd touch") {
		add(tar.Header{Name: "bin/" + applet, Typeflag: tar.TypeSymlink, Linkname: "busybox"}, nil)
	}
	add(tar.Header{Name: "workspace/", Typeflag: tar.TypeDir, Mode: 0o755, Uid: testUser, Gid: testUser}, nil)
	for _, dir := range []string{"tmp/", "proc/", "sys/", "dev/", "etc/"} {
		add(tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}, nil)
	}
	check(t, w.Close())
	return &b
}

// attachment is `docker attach` as a byte stream.
type attachment struct {
	io.WriteCloser
	out  io.ReadCloser
	cmd  *exec.Cmd
	once sync.Once
}

func (a *attachment) Read(p []byte) (int, error) { return a.out.Read(p) }

func (a *attachment) Close() error {
	a.once.Do(func() {
		a.cmd.Process.Kill()
		go a.cmd.Wait()
	})
	return nil
}

func (m *machine) dialContainer() *client.Client {
	m.t.Helper()
	cmd := exec.Command("docker", "attach", "--sig-proxy=false", m.container)
	in, err := cmd.StdinPipe()
	check(m.t, err)
	out, err := cmd.StdoutPipe()
	check(m.t, err)
	check(m.t, cmd.Start())
	c, err := client.Dial(m.t.Context(), &attachment{WriteCloser: in, out: out, cmd: cmd}, m.key)
	check(m.t, err)
	m.t.Cleanup(func() { c.Close() })
	return c
}

// The smallest sandbox that can be asked for: 32 processes, 16 MiB.
func TestDockerSmallestSandbox(t *testing.T) {
	m := newContainer(t, "--pids-limit", "32", "--memory", "16m", "--memory-swap", "16m")
	c := m.dialContainer()
	m.sh(c, "id -u; echo x > f; cat f").expect(t, 0, "1000\nx\n", "")
	var took []time.Duration
	for range 50 {
		began := time.Now()
		m.run(c, command{argv: []string{"true"}}).expect(t, 0, "", "")
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	pid := docker(t, "inspect", "-f", "{{.State.Pid}}", m.container)
	t.Logf("exec p50 %v, p90 %v; guest: %s", took[len(took)/2], took[len(took)*9/10], memoryAndThreads(t, pid))

	m.sh(c, `i=1; while [ $i -le 64 ]; do kill -$i 1; i=$((i+1)); done; true`)
	m.run(c, command{sh: "kill -9 -1", timeout: 5 * time.Second})
	for _, bomb := range []string{
		"b() { b | b & }; b & exec sleep 60",
		"echo 'setsid sh bomb & setsid sh bomb & setsid sh bomb & wait' > bomb; sh bomb & exec sleep 60",
	} {
		began := time.Now()
		o := m.run(c, command{sh: bomb, timeout: time.Second}) // or memory runs out before
		if took := time.Since(began); took > 2*time.Second || !o.TimedOut && !o.OOMKilled {
			t.Errorf("%s: after %v got %+v", bomb, took, o.ExecResult)
		}
		time.Sleep(time.Until(began.Add(time.Second)))
	}
	m.sh(c, "echo alive").expect(t, 0, "alive\n", "")
	t.Log("afterwards:", memoryAndThreads(t, pid))
}

func memoryAndThreads(t testing.TB, pid string) string {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	check(t, err)
	var fields []string
	for line := range strings.Lines(string(text)) {
		for _, name := range []string{"RssAnon", "RssFile", "Threads"} {
			if strings.HasPrefix(line, name) {
				fields = append(fields, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	return strings.Join(fields, ", ")
}

// L2, L3: a command that lost a process to the OOM killer says so, and no other.
func TestDockerL2L3OutOfMemory(t *testing.T) {
	m := newContainer(t, "--pids-limit", "64", "--memory", "64m", "--memory-swap", "64m")
	c := m.dialContainer()
	for range 2 {
		if o := m.run(c, command{argv: []string{"tail", "/dev/zero"}}); !o.OOMKilled || o.ExitCode != 137 {
			t.Errorf("alone: %+v", o.ExecResult)
		}
		if o := m.sh(c, "tail /dev/zero; echo after"); !o.OOMKilled || o.ExitCode != 0 || o.stdout != "after\n" {
			t.Errorf("in a shell: %+v, %q", o.ExecResult, o.stdout)
		}
		for _, script := range []string{"kill -9 $$", "exit 137", "echo ok"} {
			if o := m.sh(c, script); o.OOMKilled {
				t.Errorf("%s: %+v", script, o.ExecResult)
			}
		}
		m.timedOut(func(cmd command) outcome { return m.run(c, cmd) }, "sleep 60", 100*time.Millisecond)
	}
}

// L3: nor does one that dies by its own hand some time after another lost a
// process.
func TestDockerL3BesideAnother(t *testing.T) {
	m := newContainer(t, "--pids-limit", "64", "--memory", "64m", "--memory-swap", "64m")
	c := m.dialContainer()
	bystander := make(chan outcome)
	go func() { bystander <- m.sh(c, "sleep 1.5; kill -9 $$") }()
	eventually(t, 30*time.Second, "an OOM kill", func() (any, bool) {
		o := m.run(c, command{argv: []string{"tail", "/dev/zero"}})
		return o.ExecResult, o.OOMKilled
	})
	if o := <-bystander; o.OOMKilled || o.ExitCode != 137 {
		t.Errorf("the other: %+v", o.ExecResult)
	}
}

// A server that is killed and attaches again, floods under way.
func TestDockerReattach(t *testing.T) {
	m := newContainer(t, "--pids-limit", "64", "--memory", "64m", "--memory-swap", "64m")
	for i := range 6 {
		began := time.Now()
		c := m.dialContainer()
		m.run(c, command{argv: []string{"echo", "there"}}).expect(t, 0, "there\n", "")
		t.Log("attached after", time.Since(began))
		m.flood(c)
		time.Sleep(time.Duration(i*20) * time.Millisecond)
		c.Close()
	}
}

// How fast bulk goes through the attach stream.
func TestDockerThroughput(t *testing.T) {
	m := newContainer(t, "--pids-limit", "64", "--memory", "256m", "--memory-swap", "256m")
	c := m.dialContainer()
	const size = 64 << 20
	for name, move := range map[string]func() error{
		"up":   func() error { return m.write(c, "big", bytes.NewReader(make([]byte, size))) },
		"down": func() error { _, err := m.exec(c, "head -c "+strconv.Itoa(size)+" /dev/zero"); return err },
	} {
		began := time.Now()
		if err := move(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %.0f MB/s", name, size/1e6/time.Since(began).Seconds())
	}
}

func (m *machine) exec(c *client.Client, script string) (n int, err error) {
	_, err = c.Exec(context.Background(), m.params(command{sh: script}), nil, func(_ protocol.Stream, p []byte) error {
		n += len(p)
		return nil
	})
	return n, err
}

// The container's end is seen at once.
func TestDockerA8KilledContainer(t *testing.T) {
	m := newContainer(t)
	c := m.dialContainer()
	ended := make(chan error, 1)
	go func() { _, err := m.exec(c, "sleep 300"); ended <- err }()
	time.Sleep(100 * time.Millisecond)
	docker(t, "kill", m.container)
	select {
	case err := <-ended:
		if !errors.Is(err, client.ErrLost) {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("exec hangs")
	}
}

// Background execs, as many as there may be and with more output than is kept,
// cost an eighth of the sandbox's memory, and some megabytes.
func TestDockerMemoryOfJobs(t *testing.T) {
	for _, memory := range []int64{16, 512} {
		limit := fmt.Sprintf("%dm", memory)
		m := newContainer(t, "--pids-limit", "128", "--memory", limit, "--memory-swap", limit)
		c := m.dialContainer()
		m.sh(c, "true")
		pid := docker(t, "inspect", "-f", "{{.State.Pid}}", m.container)
		before := anonymousOf(t, pid)
		for range protocol.MaxBackground {
			id := m.background(c, command{sh: "head -c 2097152 /dev/zero; head -c 2097152 /dev/zero >&2"})
			m.follow(c, id)
		}
		after := anonymousOf(t, pid)
		t.Logf("%d MiB: anonymous memory of the guest %d KiB, with 32 jobs %d KiB", memory, before>>10, after>>10)
		if most := memory<<20/8 + 8<<20; after-before > most {
			t.Errorf("%d MiB: it has grown by %d bytes, more than %d", memory, after-before, most)
		}
		m.sh(c, "echo ok").expect(t, 0, "ok\n", "")
	}
}

func anonymousOf(t testing.TB, pid string) int64 {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	check(t, err)
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	check(t, err)
	return kib << 10
}

// A background exec that lost a process to the OOM killer says so; one that a
// caller has killed does not, also when another lost one before.
func TestDockerOutOfMemoryInTheBackground(t *testing.T) {
	m := newContainer(t, "--pids-limit", "64", "--memory", "64m", "--memory-swap", "64m")
	c := m.dialContainer()
	bystander := m.background(c, command{argv: []string{"sleep", "100"}})
	if o := m.follow(c, m.background(c, command{argv: []string{"tail", "/dev/zero"}})); !o.OOMKilled || o.ExitCode != 137 {
		t.Errorf("got %+v", o.ExecResult)
	}
	check(t, c.Signal(t.Context(), protocol.SignalParams{ID: bystander, Signal: "SIGKILL"}))
	if o := m.follow(c, bystander); o.OOMKilled || o.ExitCode != 137 {
		t.Errorf("the bystander: %+v", o.ExecResult)
	}
}
