package guest

import "golang.org/x/sys/unix"

// A network name space holds only some families of sockets. Of the others,
// AF_VSOCK reaches the hypervisor under the host from any container, one without
// network too, and none has a use in a sandbox. So a command may make sockets of
// these families only.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// socketRules deny all ways to a socket of another family.
func (t callTable) socketRules() (f []unix.SockFilter) {
	f = append(f, when(t.socket, onlyFamilies()...)...)
	if t.socketcall != 0 {
		const socket = 1
		// The family is in memory, where a filter cannot look. Programs of this
		// century call socket itself.
		f = append(f, when(t.socketcall, load(offArg), unlessEqual(socket, 1), deny(), allow())...)
	}
	// Its queues make sockets, and more, past any filter.
	return append(f, when(t.ioUringSetup, deny())...)
}

func onlyFamilies() []unix.SockFilter {
	block := []unix.SockFilter{load(offArg)}
	for i, family := range families {
		block = append(block, ifEqual(family, len(families)-i)) // over the rest and the denial
	}
	return append(block, deny(), allow())
}
