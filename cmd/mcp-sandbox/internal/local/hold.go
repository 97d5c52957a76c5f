package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

const holdPath = "/local/hold"

// ErrLeaving is the cause of the errors that say that a server was there, but is
// about to end. Nothing was asked of it; the next one will be there soon.
var ErrLeaving = errors.New("the server on the local socket is ending")

// Hold is a claim on a server that serves only as long as somebody needs it, as a
// command does that had none to talk to. See [Server.Quit].
type Hold struct {
	About About
	end   func()
}

// Close gives the claim up.
func (h *Hold) Close() { h.end() }

// Claim finds the server that holds a data directory, and holds it. Where there is
// none the error is [ErrNone], where it is ending [ErrLeaving]. ctx bounds the
// opening only.
func Claim(ctx context.Context, dataDir string) (*Hold, error) {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return Dial(ctx, dataDir) }}
	open, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	req, err := http.NewRequestWithContext(open, http.MethodGet, BaseURL+holdPath, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	resp, err := t.RoundTrip(req)
	if !stop() && err == nil {
		resp.Body.Close()
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, claimError(ctx, err)
	}
	end := func() { resp.Body.Close(); cancel(); t.CloseIdleConnections() }
	switch about, ok := From(resp.Header); {
	case resp.StatusCode == http.StatusServiceUnavailable:
		end()
		return nil, ErrLeaving
	case resp.StatusCode != http.StatusOK || !ok:
		end()
		return nil, fmt.Errorf("claim server on local socket: it says %s", resp.Status)
	default:
		return &Hold{about, end}, nil
	}
}

// claimError is for a claim without an answer. A connection that breaks before
// there is one was dropped by a server that was ending.
func claimError(ctx context.Context, err error) error {
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("claim server on local socket: %w", context.Cause(ctx))
	case errors.Is(err, ErrNone), errors.As(err, &op) && op.Op == "dial":
		return err
	}
	return fmt.Errorf("%w: %w", ErrLeaving, err)
}

// hold lasts until the other end goes or the server does.
func (s *Server) hold(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.left {
		s.mu.Unlock()
		http.Error(w, ErrLeaving.Error(), http.StatusServiceUnavailable)
		return
	}
	s.holds++
	s.mu.Unlock()
	defer s.unhold()
	w.WriteHeader(http.StatusOK)
	if http.NewResponseController(w).Flush() != nil {
		return
	}
	select {
	case <-r.Context().Done():
	case <-s.leaving.Done():
	}
}

func (s *Server) unhold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds--; s.holds == 0 {
		select {
		case s.free <- struct{}{}:
		default:
		}
	}
}

// Quit waits until nobody holds the server; from then on nobody can, and streams
// are not taken either. Whoever comes after that gets [ErrLeaving].
func (s *Server) Quit(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.holds == 0 {
			s.left = true
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-s.free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
