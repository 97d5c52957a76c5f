// Package guest is the process inside every sandbox: PID 1 of its container,
// running as the sandbox user, serving everything that the server wants done
// there over its standard input and output.
//
// It exists because the alternatives are slow or weak: an exec by the container
// engine costs a hundred milliseconds, cannot be cancelled and cannot kill what
// it started, and file copies by the engine run as root.
//
// # How it hangs together
//
//	standard input → pump ──(finds greetings)──→ session → HTTP/2 → handlers
//	standard output ←──────(one owner at a time)───────────────────┘
//
// The pump ([guest.pump]) reads standard input for ever. A greeting in it, a
// secret key and a nonce, ends the running session and begins another, so a
// server that crashed in the middle of anything can attach again and start
// clean. Handlers are one file each: exec, start, poll, input, files, archives, …
//
// A background exec (a job) belongs to the guest, not to a session. Its outlets
// write to a tape, which keeps the end of each stream; readers, each at a place of
// its own, send that on, the call that started the job among them for as long as
// it stays.
//
// A command is started by the spawner (one OS thread, so that niceness and the
// rlimit mark can be set around the fork), ended by the reaper, and killed with
// all its descendants by [guest.killTree], which finds them by their mark.
//
// # What it must never do
//
// The sandbox's owner shares the machine with it and may be hostile or merely
// out of control, so:
//
//   - It never needs a new OS thread after start (see threads_linux.go): with
//     the process limit used up, the Go runtime could not make one and would
//     die. Whatever blocks in the kernel is therefore counted, and quick calls
//     that cannot block are made without telling the scheduler.
//   - It never buffers without a bound: pipes, windows and queues are small.
//   - It never signals a process that it has not just identified.
//   - It has no periodic timer: an idle sandbox costs no CPU.
//
// # Adding a call
//
// A Path constant and parameter types in package protocol, a handler here, a
// line in [guest.routes], a method in package client, and a test that drives
// the handler through the client.
package guest
