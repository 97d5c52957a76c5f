package dockerbackend

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
)

// TestTwoNetworksOfTheName: two servers have made one at the same moment.
func TestTwoNetworksOfTheName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.twin()
	if !r.twin() {
		return // this Docker does not let it happen
	}
	s := spec(busybox)
	s.Network = true
	box := r.create(s)
	if got := box.sh("ls /sys/class/net"); got != "eth0\nlo\n" {
		t.Errorf("interfaces: %q", got)
	}
	if n := r.twins(); n != 1 {
		t.Errorf("there are %d networks", n)
	}
	r.twin()
	r.create(s).sh("true")
	if n := r.twins(); n != 1 {
		t.Errorf("there are %d networks after another", n)
	}
}

// twin makes a network as Docker does for two who ask at once: without a look.
func (r *rig) twin() bool {
	r.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return r.docker.Dialer()(ctx) }}
	defer transport.CloseIdleConnections()
	body := fmt.Sprintf(`{"Name": %q, "Driver": "bridge", "Options": {%q: "false"}, "Labels": {%q: "true", %q: %q}}`,
		r.b.cfg.NetworkName, iccOption, labelManaged, labelInstance, r.instance)
	req, err := http.NewRequestWithContext(r.ctx, "POST", "http://docker/v"+r.docker.ClientVersion()+"/networks/create", strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusConflict {
		r.Fatalf("create a network: %s", resp.Status)
	}
	return resp.StatusCode == http.StatusCreated
}

func (r *rig) twins() int {
	r.Helper()
	all, err := r.docker.NetworkList(r.ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("name", r.b.cfg.NetworkName))})
	if err != nil {
		r.Fatal(err)
	}
	return len(all)
}
