// Package manager owns sandboxes: what they are, what may be done to them, and
// when they end. How they exist is a [Backend]'s business; who asks, and in what
// language, is the doors'.
//
// # Rooms
//
// Records: record.go (what is known of a sandbox, and what to make of it after
// a crash), store.go (on disk).
//
// The data directory: datadir.go (is it ours, one server at a time), instance.go
// and mark.go (what the server is called in the backend), folder.go (a directory
// of records, whatever is in it), durable_*.go, open_*.go.
//
// Snapshots: snapstore.go (which there are), snaprecord.go, snapload.go (at
// start), snapdraft.go (one being written), snapread.go (one being read, and
// verified), check_tar.go (one from outside).
//
// Sandboxes in memory: sandbox.go (state and its changes), registry.go (from ID
// to sandbox, owners apart), reserve.go (the limit), gate.go (who may be inside
// when), lock.go, link.go (the shared connection to the guest), visit.go (one call
// inside: gate, guest, leave), explain.go (what a call is told when things go
// wrong), refusals.go (the manager's own errors).
//
// Life: establish.go and incarnate.go (the path that create, fork and rollback
// share), pool.go and pool_fill.go (incarnations in waiting), destroy.go, expire.go, deadline.go, status.go, frozen.go, reap.go (the
// sweep behind the timers), reconcile.go and orphan.go (records against the
// backend), tasks.go (work in the background).
//
// Outside: health.go, observer.go (what is counted).
//
// Execs: exec_run.go (a command in the guest), exec_output.go (of one that is seen
// to its end); of background ones exec_read.go (a look at one), exec_excerpt.go
// (its output, no character cut), exec_cursor.go, exec_state.go. They live in the
// guest: nothing is kept of them here, and so they outlive a restart.
//
// Operations have a file each, named for them: create.go, exec.go,
// poll_exec.go, read_file.go, … Arguments are checked in check_*.go, path.go, mode.go.
//
// # Invariants
//
//   - A record says what is meant before it is done: creating and rolling_back
//     name what may exist in part, destroying and stale name what must go. So
//     crash recovery is [recovered] and the sweep, and nothing else.
//   - A client sees a sandbox from the change to running until its expiry or
//     the change to destroying, never half of one.
//   - Create and Remove of the backend never meet for one sandbox: both happen
//     under its forge.
//   - What races (renew and expiry, destroy and rollback) is decided inside
//     [Manager.change] or condemn, by who comes first; the loser is refused.
//   - An exec reaches the guest at most once, and one that nobody was told of does
//     not go on.
//
// # Locks
//
// In this order: gate (no lock is held while inside, only a pass), forge,
// sandbox.telling, sandbox.changing, link.mu, Manager.mu, sandbox.mu. The last
// three are never held across I/O. changing is held across a write to disk,
// telling across one bounded call to the guest, forge across calls to the
// backend. Nothing global is ever held across any of these.
//
// # Adding an operation
//
// Give it a file. Check its arguments first, by errors of kind invalid that name
// the field, its value and what is allowed. Then, for a call into the guest, use
// [Manager.ask] when it may be made twice and [Manager.do] when not; one that
// streams takes a visit by enter and leaves it at the end. One that excludes
// others takes a visit by claim. One that makes or removes things writes a record
// first, and teaches [recovered] or the sweep what to do when it is cut off.
// Then both doors get it. It defers [Manager.observe], so that it is counted.
package manager
