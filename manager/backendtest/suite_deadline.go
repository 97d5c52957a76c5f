package backendtest

import (
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

var deadlineChecks = []check{
	{"a deadline that passes stops the sandbox", func(e *env) {
		b := e.create()
		e.write(b, "/workspace/f", "kept")
		setDeadline(e, b, 500*time.Millisecond)
		e.closes("done", b.Done())
		e.eventually("container stops", func() (any, bool) {
			s := e.inspect(b.ref)
			return s, s.Container == manager.ContainerStopped && s.Volume
		})
	}},
	{"a newer deadline replaces it, also after a new connection", func(e *env) {
		b := e.create()
		setDeadline(e, b, 800*time.Millisecond)
		setDeadline(e, b, patience)
		e.sh(b, "sleep 1.2")
		setDeadline(e, b, time.Second)
		again := e.open(b)
		setDeadline(e, again, patience)
		e.sh(again, "sleep 1.5")
	}},
}

func setDeadline(e *env, b *box, d time.Duration) {
	e.Helper()
	if err := b.SetDeadline(e.ctx, d); err != nil {
		e.Fatalf("set deadline: %v", err)
	}
}
