//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const patience = 3 * time.Second

// reach tries an address: "tcp HOST:PORT", "udp HOST:PORT", "icmp HOST",
// "vsock CID:PORT", or "name NAME" for the resolver. TCP that is accepted, and
// datagrams and echo requests that are answered, have reached it. What listens
// says a word, which is in the result.
func reach(to string) string {
	kind, address, _ := strings.Cut(to, " ")
	switch kind {
	case "icmp":
		return verdict("", ping(address))
	case "vsock":
		return verdict("", vsock(address))
	case "name":
		return resolve(address)
	case "address": // the name of one
		names, err := net.LookupAddr(address)
		return verdict(strings.Join(names, " "), err)
	}
	conn, err := net.DialTimeout(kind, address, patience)
	if err != nil {
		return verdict("", err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if kind == "udp" {
		if _, err := conn.Write([]byte("x")); err != nil {
			return verdict("", err)
		}
	}
	word := make([]byte, 16)
	n, err := conn.Read(word)
	if kind == "tcp" && !errors.Is(err, unix.ECONNRESET) {
		err = nil
	}
	return verdict(string(word[:n]), err)
}

func verdict(word string, err error) string {
	if err != nil {
		return refused
	}
	return strings.TrimSpace("reached " + word)
}

func vsock(address string) error {
	var at unix.SockaddrVM
	if _, err := fmt.Sscanf(address, "%d:%d", &at.CID, &at.Port); err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	return unix.Connect(s, &at)
}

// ping sends an echo request by a socket that takes no capability.
func ping(host string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	timeout := unix.NsecToTimeval(patience.Nanoseconds())
	_ = unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
	to := unix.SockaddrInet4{Addr: [4]byte(net.ParseIP(host).To4())}
	if err := unix.Sendto(s, []byte{8, 0, 0, 0, 0, 1, 0, 1}, 0, &to); err != nil { // the kernel fills in the rest
		return err
	}
	_, _, err = unix.Recvfrom(s, make([]byte, 64), 0)
	return err
}

// listen answers on TCP and UDP ports with a word, until it is killed: arguments
// WORD ADDRESS….
func listen(args []string) {
	for _, address := range args[1:] {
		tcp, err := net.Listen("tcp", address)
		if err == nil {
			var udp net.PacketConn
			udp, err = net.ListenPacket("udp", address)
			go answerTCP(tcp, args[0])
			go answerUDP(udp, args[0])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "listen:", err)
			os.Exit(1)
		}
	}
	fmt.Println("listening")
	_, _ = io.Copy(io.Discard, os.Stdin)
	select {}
}

func answerTCP(l net.Listener, word string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, word)
		conn.Close()
	}
}

func answerUDP(c net.PacketConn, word string) {
	if c == nil {
		return
	}
	for buf := make([]byte, 16); ; {
		_, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = c.WriteTo([]byte(word), from)
	}
}
