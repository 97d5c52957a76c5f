package dockerbackend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errhttp"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

func TestDockerErrors(t *testing.T) {
	secret := "/var/lib/docker/overlay2/0123 of container 4567"
	docker := func(kind error) error { return fmt.Errorf("%s: %w", secret, kind) }
	for _, c := range []struct {
		name string
		err  error
		want manager.Kind
	}{
		{"silent", errors.Join(errSilent, context.Canceled), manager.KindUnavailable},
		{"deadline", context.DeadlineExceeded, manager.KindUnavailable},
		{"cancelled", context.Canceled, manager.KindUnavailable},
		{"cut off", io.ErrUnexpectedEOF, manager.KindUnavailable},
		{"refused connection", &net.OpError{Op: "dial", Err: errors.New(secret)}, manager.KindUnavailable},
		{"503", docker(cerrdefs.ErrUnavailable), manager.KindUnavailable},
		{"502", errhttp.ToNative(http.StatusBadGateway), manager.KindUnavailable},
		{"not JSON", json.Unmarshal([]byte("<html>"), new(string)), manager.KindUnavailable},
		{"other JSON", json.Unmarshal([]byte("[]"), new(string)), manager.KindUnavailable},
		{"nonsense", errNonsense, manager.KindUnavailable},
		{"404", docker(cerrdefs.ErrNotFound), manager.KindBackend},
		{"409", docker(cerrdefs.ErrConflict), manager.KindBackend},
		{"400", docker(cerrdefs.ErrInvalidArgument), manager.KindInvalid},
		{"403", docker(cerrdefs.ErrPermissionDenied), manager.KindBackend},
		{"500", docker(cerrdefs.ErrInternal), manager.KindBackend},
		{"full disk", docker(errors.New("write: no space left on device")), manager.KindNoSpace},
	} {
		err := dockerError("start container", c.err)
		var typed *manager.Error
		if !errors.As(err, &typed) || typed.Kind != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %#v, want kind %d", c.name, err, c.want)
			continue
		}
		if public := manager.Public(err); strings.Contains(public.Message+public.Hint, secret) {
			t.Errorf("%s: Docker's text is public: %q", c.name, public.Message)
		}
		if again := dockerError("other", err); again != err {
			t.Errorf("%s: typed twice: %v", c.name, again)
		}
	}
	if dockerError("x", nil) != nil {
		t.Error("no error became one")
	}
}

func TestGuestErrors(t *testing.T) {
	mine := errors.New("mine")
	if guestError(mine) != mine || guestError(nil) != nil {
		t.Error("a caller's own error does not stay as it is")
	}
	for code, want := range map[protocol.Code]manager.Kind{
		protocol.ErrInvalid: manager.KindInvalid, protocol.ErrEscapes: manager.KindInvalid, protocol.ErrWrongType: manager.KindInvalid,
		protocol.ErrNotEmpty: manager.KindInvalid, protocol.ErrBadArchive: manager.KindInvalid, protocol.ErrExists: manager.KindConflict,
		protocol.ErrNotFound: manager.KindNotFound, protocol.ErrPermission: manager.KindForbidden, protocol.ErrTooLarge: manager.KindTooLarge,
		protocol.ErrNoSpace: manager.KindNoSpace, protocol.ErrNoProcesses: manager.KindLimit, protocol.ErrBusy: manager.KindLimit,
		protocol.ErrInternal: manager.KindBackend,
	} {
		if got := manager.KindOf(guestError(fmt.Errorf("call: %w", &protocol.Error{Code: code}))); got != want {
			t.Errorf("%s: kind %d, want %d", code, got, want)
		}
	}
	if manager.KindOf(guestError(fmt.Errorf("x: %w", client.ErrLost))) != manager.KindLost {
		t.Error("a lost channel is not KindLost")
	}
}
