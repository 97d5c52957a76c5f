package dockerbackend

import (
	"errors"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// guestError types an error of the channel. What is neither the guest's nor the
// channel's is the caller's own (its context, its reader, its emit) and stays.
func guestError(err error) error {
	var no *protocol.Error
	var typed *manager.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return err
	case errors.As(err, &no):
		return guestRefusal(no)
	case errors.Is(err, client.ErrLost):
		return &manager.Error{
			Kind: manager.KindLost, Message: "the connection into the sandbox broke",
			Hint: "Whether the call took effect is unknown; look before you repeat it.", Retryable: true, Cause: err,
		}
	}
	return err
}

// guestRefusal keeps the guest's message, which names paths in the sandbox only.
func guestRefusal(no *protocol.Error) error {
	e := &manager.Error{Message: no.Message, Cause: no}
	switch no.Code {
	case protocol.ErrInvalid, protocol.ErrEscapes, protocol.ErrWrongType, protocol.ErrNotEmpty, protocol.ErrBadArchive:
		e.Kind = manager.KindInvalid
	case protocol.ErrNotFound:
		e.Kind = manager.KindNotFound
	case protocol.ErrExists:
		e.Kind = manager.KindConflict
	case protocol.ErrPermission:
		e.Kind = manager.KindForbidden
	case protocol.ErrTooLarge:
		e.Kind = manager.KindTooLarge
	case protocol.ErrNoSpace:
		e.Kind, e.Hint = manager.KindNoSpace, "Delete files in the sandbox."
	case protocol.ErrNoProcesses:
		e.Kind, e.Retryable = manager.KindLimit, true
		e.Hint = "The sandbox's process limit is used up: wait for what runs in it to end, or give it a higher pids_limit."
	case protocol.ErrBusy:
		e.Kind, e.Retryable = manager.KindLimit, true
		e.Hint = "Too many calls run in this sandbox at once; wait for some to end."
	case protocol.ErrTooMany:
		e.Kind, e.Retryable = manager.KindLimit, true
		e.Hint = "Kill a background exec, or wait until one has ended."
	case protocol.ErrConflict:
		e.Kind = manager.KindConflict
	case protocol.ErrUnknownCall:
		e.Kind = manager.KindConflict
		e.Hint = "Roll the sandbox back to a snapshot, or make a new one: that one can."
	default:
		e.Kind = manager.KindBackend
	}
	return e
}
