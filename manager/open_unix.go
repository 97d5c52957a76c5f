//go:build !windows

package manager

import "syscall"

// openFlags make opening a file follow no link and wait for nobody.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
