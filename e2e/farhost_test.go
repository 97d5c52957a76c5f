package e2e

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// farHost is a machine of the test's own that the host forwards to, as to any
// other: a network name space at the end of a cable. On port 7000, TCP and UDP, it
// answers "outside".
type farHost struct {
	t             *testing.T
	space, cable  string
	address, host string // of it, and of the host's end
}

// newFarHost needs root, as all that changes the host's network.
func newFarHost(t *testing.T) *farHost {
	t.Helper()
	asRoot(t, "lay a network")
	if out, err := exec.Command("../scripts/need", "ip", "iptables").CombinedOutput(); err != nil {
		t.Fatalf("scripts/need: %v %s", err, out)
	}
	random := randomBytes(4)
	tag := hex.EncodeToString(random)
	// In the block for tests of network devices; four addresses.
	net4 := fmt.Sprintf("198.18.%d.", random[0])
	first := int(random[1]) &^ 3
	o := &farHost{t: t, space: "outside-" + tag, cable: "out" + tag, host: net4 + itoa(first+1), address: net4 + itoa(first+2)}
	t.Cleanup(o.remove)
	o.ip("netns", "add", o.space)
	o.ip("link", "add", o.cable, "type", "veth", "peer", "name", "eth0", "netns", o.space)
	o.ip("addr", "add", o.host+"/30", "dev", o.cable)
	o.ip("link", "set", o.cable, "up")
	o.ip("-n", o.space, "addr", "add", o.address+"/30", "dev", "eth0")
	o.ip("-n", o.space, "link", "set", "eth0", "up")
	o.ip("-n", o.space, "link", "set", "lo", "up")
	listener(t, exec.Command("ip", "netns", "exec", o.space, probePath(t), "listen", "outside", o.address+":7000"))
	return o
}

func (o *farHost) ip(args ...string) {
	o.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		o.t.Fatalf("ip %q: %v %s", args, err, out)
	}
}

func (o *farHost) remove() {
	exec.Command("ip", "link", "del", o.cable).Run()
	exec.Command("ip", "netns", "del", o.space).Run()
}

// listener runs a listening probe until the test ends.
func listener(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	check(t, err)
	stdin, err := cmd.StdinPipe() // open for as long as the test runs
	check(t, err)
	cmd.Stderr = os.Stderr
	check(t, cmd.Start())
	t.Cleanup(func() { stdin.Close(); cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		t.Fatalf("%s listens: %q, %v", cmd.Args, line, err)
	}
}

// probePath is where the probe is on this machine.
func probePath(t *testing.T) string {
	t.Helper()
	if _, err := probeProgram(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(buildDir, "probe")
}

// listenHere takes connections at an address of the host, and returns its port.
func listenHere(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	check(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "host")
			conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}
