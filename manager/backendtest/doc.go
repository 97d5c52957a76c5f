// Package backendtest holds what every [manager.Backend] is measured with: [Run],
// the one conformance suite, and [Fake], an in-memory backend that passes it.
//
// The suite is the executable form of the comments in manager/backend.go: a
// promise there is a named subtest here, and a backend is done when it passes.
// A test of the manager that needs sandboxes but not isolation uses the Fake: it
// has no real I/O, starts no process and tells time only through package time,
// so that it works inside a testing/synctest bubble.
//
// # Adding a promise
//
// Write it into manager/backend.go; add a subtest to the topic file it belongs
// to (suite_*.go), using only commands that busybox has and shell.go
// understands; make the Fake pass; run the suite on the real backend.
package backendtest
