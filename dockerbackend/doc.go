// Package dockerbackend makes sandboxes exist on a Docker engine: it is the
// [manager.Backend] that production uses.
//
// # What there is in Docker
//
//   - A container and a volume for each incarnation of a sandbox. convert.go
//     says on one page what a sandbox's container may and may not do.
//   - A prepared image for each base image: the base with our guest in
//     /.mcp-sandbox and a /workspace that the sandbox user owns (bake.go).
//   - A bridge network, while a sandbox with network exists (network.go).
//
// All of them carry the label io.agent-sandbox.managed=true and the label of
// the server that made them (labels.go). Nothing without the label is ever
// touched, whatever its name.
//
// # How a sandbox is reached
//
// The guest is each container's first process. The server attaches to its
// standard streams (attach.go) and speaks to it with [client.Client]; no port,
// no socket and no docker exec is involved. guest.go turns that client into a
// [manager.Guest], and watch.go ends calls which nobody will answer: the
// container is paused, or Docker hangs.
//
// # Rules
//
//   - Every call to Docker goes through engine.go, which bounds its time and
//     types its error (errors.go, the only file that interprets them). An answer
//     that lacks what Docker always says is an error too (answers.go).
//   - A call that changes something is never cut off by the caller's context:
//     Docker goes on with a request whose client has left, so the outcome would
//     be unknown. Such calls end by themselves or by their own time limit, and
//     the context is looked at in between.
//   - What is to be undone is noted before it is done (undo.go).
//   - Open, Create and Remove of one container take turns (locks.go).
//
// # Tests
//
// faultmatrix_test.go puts every fault of [faultproxy] on every call of every
// operation, through the manager. A new call is found by itself; a new operation
// goes into faultops_test.go.
package dockerbackend
