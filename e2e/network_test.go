package e2e

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestNetwork: what sandboxes with network reach, and what they do not. What
// docs/security.md says of it is proved here, line by line.
func TestNetwork(t *testing.T) {
	t.Parallel()
	out := newFarHost(t)
	name := "mcp-sandbox-test-" + hex.EncodeToString(randomBytes(4))
	s := startAt(t, client.REST, "--network-name="+name)
	a, b := s.networked(), s.networked()
	atA, atB, gateway := s.addressOf(a), s.addressOf(b), s.mustDocker("network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", name)
	other := otherNetwork(t, name+"-other")
	loopback, bridge := listenHere(t, "127.0.0.1"), listenHere(t, gateway)
	own, err := url.Parse(s.URL)
	check(t, err)

	reached := a.runProbe("network", "tcp "+out.address+":7000", "udp "+out.address+":7000", "icmp "+out.address, "tcp "+gateway+":"+bridge,
		"tcp "+atB+":7000", "udp "+atB+":7000", "icmp "+atB,
		"tcp "+other+":7000", "udp "+other+":7000", "icmp "+other,
		"tcp 127.0.0.1:"+loopback, "tcp "+gateway+":"+loopback, "tcp 127.0.0.1:"+own.Port(), "tcp "+gateway+":"+own.Port(),
		"interfaces", "IPv6 addresses", "vsock 2:1024", "address "+atB)
	back := b.runProbe("network", "tcp "+atA+":7000", "udp "+atA+":7000", "icmp "+atA)
	reachedItself := b.runProbe("network", "tcp "+atB+":7000", "udp "+atB+":7000", "icmp "+atB)

	t.Run("K2 reaches the outside", func(t *testing.T) {
		expect(t, reached, "reached outside", "tcp "+out.address+":7000", "udp "+out.address+":7000")
		expect(t, reached, "reached", "icmp "+out.address)
	})
	t.Run("K2 no other sandbox", func(t *testing.T) {
		expect(t, reachedItself, "reached sandbox", "tcp "+atB+":7000", "udp "+atB+":7000") // so it does listen
		expect(t, reachedItself, "reached", "icmp "+atB)
		expect(t, reached, "refused", "tcp "+atB+":7000", "udp "+atB+":7000", "icmp "+atB)
		expect(t, back, "refused", "tcp "+atA+":7000", "udp "+atA+":7000", "icmp "+atA)
		expect(t, reached, "eth0 lo", "interfaces")
		expect(t, reached, "none", "IPv6 addresses") // by which the bridge could be crossed unfiltered
	})
	t.Run("K2 not the server's loopback", func(t *testing.T) {
		expect(t, reached, "refused", "tcp 127.0.0.1:"+loopback, "tcp "+gateway+":"+loopback, "tcp 127.0.0.1:"+own.Port(), "tcp "+gateway+":"+own.Port(), "vsock 2:1024")
	})
	t.Run("K2 the host's other addresses", func(t *testing.T) { expect(t, reached, "reached host", "tcp "+gateway+":"+bridge) })
	t.Run("K2 no other Docker network", func(t *testing.T) {
		expect(t, reached, "refused", "tcp "+other+":7000", "udp "+other+":7000", "icmp "+other)
	})
	t.Run("K2 names of containers on the bridge", func(t *testing.T) {
		if name := reached["address "+atB]; !strings.Contains(name, string(b.ID)) {
			t.Errorf("Docker's resolver does not tell them any more (%q): change docs/security.md", name)
		}
	})
	t.Run("K1 without network as before", func(t *testing.T) {
		c := s.in(t).create()
		c.putProbe()
		expect(t, c.runProbe("network", "tcp "+out.address+":7000", "tcp "+gateway+":"+bridge, "tcp "+atA+":7000"), "refused",
			"tcp "+out.address+":7000", "tcp "+gateway+":"+bridge, "tcp "+atA+":7000")
	})
	t.Run("K2 the network goes with its last sandbox", func(t *testing.T) {
		s := s.in(t)
		check(t, s.destroy(a.ID))
		if _, err := s.docker("network", "inspect", name); err != nil {
			t.Error("the network is gone, with a sandbox on it")
		}
		s.restart()
		check(t, s.destroy(b.ID))
		eventually(t, 30*time.Second, "the network goes", func() (bool, any) {
			text, err := s.docker("network", "inspect", name)
			return err != nil, text
		})
	})
}

// TestNetworkPolicy: a network that the operator has made, with rules that say what
// sandboxes on it reach, as docs/security.md has them.
func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	out := newFarHost(t)
	name, bridge := "mcp-sandbox-test-"+hex.EncodeToString(randomBytes(4)), "sb-"+hex.EncodeToString(randomBytes(4))
	mustDocker(t, "network", "create", "--opt", "com.docker.network.bridge.enable_icc=false", "--opt", "com.docker.network.bridge.name="+bridge, name)
	t.Cleanup(func() { docker("network", "rm", name) })
	gateway := mustDocker(t, "network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", name)
	s := startAt(t, client.REST, "--network-name="+name, "--host="+gateway)
	b := s.networked()
	own, err := url.Parse(s.URL)
	check(t, err)
	outer, host, metadata := "tcp "+out.address+":7000", "tcp "+own.Host, "tcp 169.254.169.254:80"

	t.Run("K2 the API without a key", func(t *testing.T) {
		if got := b.in(t).sh("wget -S -O - " + s.URL + "/v1/sandboxes").Stderr; !strings.Contains(got, " 401 ") {
			t.Errorf("got %q", got)
		}
	})
	open := b.runProbe("network", outer, host)
	expect(t, open, "reached outside", outer)
	expect(t, open, "reached", host)

	t.Run("K2 rules", func(t *testing.T) {
		rule(t, "DOCKER-USER", "-i", bridge, "-d", "169.254.0.0/16", "-j", "REJECT")
		rule(t, "DOCKER-USER", "-i", bridge, "-d", "198.18.0.0/15", "-j", "REJECT")
		rule(t, "INPUT", "-i", bridge, "-j", "REJECT")
		expect(t, b.runProbe("network", outer, host, metadata), "refused", outer, host, metadata)
		if counted := rulesMet(t, "DOCKER-USER", bridge); counted != 2 {
			t.Errorf("%d of two rules were met", counted)
		}
	})
	expect(t, b.runProbe("network", outer), "reached outside", outer) // by the rules alone it was not

	t.Run("K2 the operator's network stays", func(t *testing.T) {
		check(t, s.in(t).destroy(b.ID))
		s.in(t).restart()
		if _, err := docker("network", "inspect", name); err != nil {
			t.Error("it is gone")
		}
	})
}

// networked makes a sandbox with network, with a probe in it that listens.
func (s *server) networked() *sandbox {
	s.t.Helper()
	b := s.create(args{"network": true})
	b.putProbe()
	call[schemas.ExecResult](s, "exec", args{"sandbox_id": b.ID, "argv": []string{"/workspace/probe", "listen", "sandbox", ":7000"}, "background": true})
	eventually(s.t, time.Minute, "the sandbox listens", func() (bool, any) {
		found := b.runProbe("network", "tcp 127.0.0.1:7000")
		return found["tcp 127.0.0.1:7000"] == "reached sandbox", found
	})
	return b
}

func (s *server) addressOf(b *sandbox) string {
	s.t.Helper()
	return s.mustDocker("inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", s.containerOf(string(b.ID)))
}

// otherNetwork is the address of a container that listens on a network of its own.
func otherNetwork(t *testing.T, name string) string {
	t.Helper()
	mustDocker(t, "network", "create", name)
	t.Cleanup(func() { docker("network", "rm", name) })
	id := mustDocker(t, "run", "-d", "-i", "--network", name, "-v", probePath(t)+":/probe:ro", busybox, "/probe", "listen", "other", ":7000")
	t.Cleanup(func() { docker("rm", "-f", id) })
	return mustDocker(t, "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id)
}

func expect(t *testing.T, found map[string]string, want string, names ...string) {
	t.Helper()
	for _, name := range names {
		if found[name] != want {
			t.Errorf("%s: %q, want %q", name, found[name], want)
		}
	}
}

// rule puts a rule at the head of a chain until the test ends.
func rule(t *testing.T, chain string, rest ...string) {
	t.Helper()
	do := func(flag string) error {
		out, err := exec.Command("iptables", append([]string{"--wait", "10", flag, chain}, rest...)...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("iptables %s %s %v: %w %s", flag, chain, rest, err, out)
		}
		return err
	}
	check(t, do("-I"))
	t.Cleanup(func() { check(t, do("-D")) })
}

// rulesMet counts the rules for an interface that a packet has met.
func rulesMet(t *testing.T, chain, bridge string) (n int) {
	t.Helper()
	out, err := exec.Command("iptables", "--wait", "10", "-nvxL", chain).CombinedOutput()
	check(t, err)
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 6 && f[0] != "0" && strings.Contains(line, bridge) {
			n++
		}
	}
	return n
}
