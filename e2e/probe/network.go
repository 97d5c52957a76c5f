//go:build linux

package main

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// atOnce is how long a call may take that is refused "at once": long for the
// call, short against any wait for an answer that does not come.
const atOnce = 3 * time.Second

// noNetwork: what there is of a network, and what the usual targets answer.
func noNetwork(f findings) {
	f["interfaces"] = look("interfaces")
	for name, to := range map[string]string{
		"reach an address":      "tcp 1.1.1.1:80",
		"reach an IPv6 address": "tcp [2606:4700::1111]:80",
		"reach the Docker host": "tcp 172.17.0.1:2375",
		"reach the metadata":    "tcp 169.254.169.254:80",
		"send a datagram":       "udp 8.8.8.8:53",
		"send an echo request":  "icmp 1.1.1.1",
		"reach the hypervisor":  "vsock 2:1024",
		"reach its own port 1":  "tcp 127.0.0.1:1",
	} {
		began := time.Now()
		result := reach(to)
		if result == refused && time.Since(began) < atOnce {
			result = "refused at once"
		}
		f[name] = result
	}
	f["resolve a name"] = resolve("example.com")
	_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	f.try("a raw socket", err)
	_, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	f.try("a socket for frames", err)
	_, err = unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	f.deny("a socket to the hypervisor", err)
}

func resolve(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*atOnce)
	defer cancel()
	began := time.Now()
	found, err := net.DefaultResolver.LookupHost(ctx, name)
	switch {
	case err == nil:
		return strings.Join(found, " ")
	case time.Since(began) < atOnce:
		return "refused at once"
	}
	return refused
}

// look is what "probe network" tells of one of its arguments: what the network is
// like, or whether an address is reached.
func look(at string) string {
	switch at {
	case "interfaces":
		var names []string
		interfaces, _ := net.Interfaces()
		for _, i := range interfaces {
			names = append(names, i.Name)
		}
		slices.Sort(names)
		return list(names)
	case "IPv6 addresses":
		var found []string
		addresses, _ := net.InterfaceAddrs()
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() == nil && !n.IP.IsLoopback() {
				found = append(found, n.String())
			}
		}
		return list(found)
	}
	return reach(at)
}
