package manager

import (
	"context"
	"errors"
)

// explain turns what a call inside a sandbox ended with into what its caller
// should be told: first of all why the sandbox went away, when it did.
func (v *visit) explain(err error) error {
	if err == nil {
		return nil
	}
	if why := v.turnedOut(); why != nil {
		return why
	}
	if cause := context.Cause(v.ctx); cause != nil && errors.Is(err, v.ctx.Err()) {
		return cause // the caller's own doing
	}
	if isKind(err, KindLost) && v.s.record().expired(v.m.now()) {
		return gone(ReasonExpired) // the guest ended itself, a moment before the timer
	}
	return v.m.explain(err)
}

// turnedOut is why the gate cancelled the visit, if it did.
func (v *visit) turnedOut() error {
	var why *Error
	if errors.As(context.Cause(v.ctx), &why) {
		return why
	}
	return nil
}

// explain turns the kinds that only a backend knows into those that clients do.
func (m *Manager) explain(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		if m.ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return closing() // that of an opening, which belongs to no caller
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		e = &Error{Kind: KindUnavailable, Message: "the sandbox did not answer in time"}
	}
	m.noteBackend(err)
	switch e.Kind {
	case KindFailed:
		return failedWorkspace(err)
	case KindLost:
		return lost(err)
	case KindUnavailable:
		return unavailable(e, err)
	default:
		return err
	}
}

func unavailable(e *Error, cause error) error {
	hint := e.Hint
	if hint == "" {
		hint = "Try again in a moment; sandboxes are kept and the server goes on by itself once its backend answers."
	}
	return &Error{Kind: KindUnavailable, Message: e.Message, Hint: hint, Retryable: true, Cause: cause}
}
