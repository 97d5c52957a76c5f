package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func mustEnter(t *testing.T, g *gate) *pass {
	t.Helper()
	p, err := g.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGateClaim(t *testing.T) {
	var g gate
	a, err := g.claim(t.Context(), "snapshot")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.claim(t.Context(), "rollback"); KindOf(err) != KindConflict || err.(*Error).Message != "a snapshot of this sandbox is in progress" {
		t.Errorf("second claim: %v", err)
	}
	mustEnter(t, &g).leave() // calls pass meanwhile
	a.leave()
	a.leave()
	b, err := g.claim(t.Context(), "rollback")
	if err != nil {
		t.Errorf("after the first left: %v", err)
	}
	b.leave()
}

func TestGateShutAndReopen(t *testing.T) {
	var g gate
	rollback, err := g.claim(t.Context(), "rollback")
	if err != nil {
		t.Fatal(err)
	}
	call := mustEnter(t, &g)
	inside, ok := g.shutFor(rollback, gone(ReasonRolledBack))
	if !ok || len(inside) != 1 || inside[0] != call {
		t.Fatalf("shutFor gave %v, %v", inside, ok)
	}
	var why *Error
	if !errors.As(context.Cause(call.ctx), &why) || why.Reason != ReasonRolledBack {
		t.Errorf("call ended with %v", context.Cause(call.ctx))
	}
	if rollback.ctx.Err() != nil {
		t.Error("the holder was cancelled too")
	}
	if _, err := g.claim(t.Context(), "snapshot"); KindOf(err) != KindConflict {
		t.Errorf("claim while shut: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.enter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("enter while shut, and give up: %v", err)
	}
	if awaitLeft(ctx, inside) == nil {
		t.Error("waited for nothing")
	}
	call.leave()
	if err := awaitLeft(t.Context(), inside); err != nil {
		t.Error(err)
	}
	entered := make(chan *pass)
	go func() { entered <- mustEnter(t, &g) }()
	g.reopen()
	(<-entered).leave()
	mustEnter(t, &g).leave()
}

// Who waits in front of a gate that is shut is told when it closes for good.
func TestGateClosesOnWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		rollback, err := g.claim(t.Context(), "rollback")
		if err != nil {
			t.Fatal(err)
		}
		g.shutFor(rollback, gone(ReasonRolledBack))
		waiting := make(chan error)
		go func() {
			_, err := g.enter(t.Context())
			waiting <- err
		}()
		synctest.Wait()
		g.close(notFound("x"), gone(ReasonDestroyed))
		if err := <-waiting; KindOf(err) != KindNotFound {
			t.Errorf("who waited: %v", err)
		}
	})
}

// A destroy wins over a rollback, before and after the rollback's close.
func TestGateFinal(t *testing.T) {
	var g gate
	rollback, err := g.claim(t.Context(), "rollback")
	if err != nil {
		t.Fatal(err)
	}
	if inside := g.close(notFound("x"), gone(ReasonDestroyed)); len(inside) != 1 {
		t.Errorf("%d inside", len(inside))
	}
	if rollback.ctx.Err() == nil {
		t.Error("the rollback goes on")
	}
	if _, ok := g.shutFor(rollback, gone(ReasonRolledBack)); ok {
		t.Error("the rollback could shut the gate")
	}
	g.reopen()
	if _, err := g.enter(t.Context()); KindOf(err) != KindNotFound {
		t.Errorf("enter: %v", err)
	}
	if _, err := g.claim(t.Context(), "snapshot"); KindOf(err) != KindNotFound {
		t.Errorf("claim: %v", err)
	}
}

func TestGatePassEndsWithItsCaller(t *testing.T) {
	var g gate
	ctx, cancel := context.WithCancel(t.Context())
	p, err := g.enter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer p.leave()
	cancel()
	if !errors.Is(context.Cause(p.ctx), context.Canceled) {
		t.Errorf("cause is %v", context.Cause(p.ctx))
	}
}
