// Package faults marks the moments at which it is tested that the server may
// die. In a normal build [Point] is empty, and nothing of this package is in the
// program. In one with the build tag "faults" a point kills the process, as
// kill -9 would, when the environment says so.
//
// # Adding a point
//
// Call Point between two acts that a crash may separate, the second of which is
// on disk or in the backend, and put its name into [Points]. The matrix of
// e2e/crash_test.go finds out by itself which operations pass it, kills the
// server there, and fails when none does.
package faults

// Points are the names of all there are.
var Points = []string{
	// A record, of a sandbox or a snapshot, on its way to disk.
	"disk.written", "disk.renamed",

	// Create, and what fork and rollback have in common with it.
	"create.admitted", "create.announced",
	"incarnate.image", "incarnate.made", "incarnate.filled",
	"create.recorded", "create.told",

	"rollback.announced", "rollback.switched", "rollback.moved", "rollback.undone", "stale.removed",
	"fork.saved",
	"pool.made", "pool.claimed",
	"destroy.condemned", "destroy.emptied", "destroy.removed", "destroy.unrecorded",
	"renew.recorded", "renew.told",
	"reap.condemned",

	"exec.begun", "exec.output", "exec.ended",
	"write.begun", "write.done",

	"snapshot.begun", "snapshot.packing", "snapshot.packed", "snapshot.synced", "snapshot.named", "snapshot.recorded",
	"snapshot.unpacking",
	"snapshot.unrecorded", "snapshot.deleted",

	// The next server, picking up.
	"start.cleared", "start.loaded",
	"reconcile.probed", "reconcile.orphan", "reconcile.done",

	// What Docker has done.
	"docker.volume_made", "docker.network_made", "docker.container_made", "docker.attached", "docker.started", "docker.greeted",
	"docker.container_removed", "docker.volume_removed", "docker.undone",
	"docker.remaking", "docker.limited",
	"docker.helper_made", "docker.helper_filled", "docker.committed",
}
