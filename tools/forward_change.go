package tools

import (
	"context"
	"fmt"
	"time"
)

const (
	// reconnectEvery is between two attempts to find the next server. Mostly it
	// is there after one or two.
	reconnectEvery = 50 * time.Millisecond
	// greetTime bounds the handshake with it.
	greetTime = 5 * time.Second
)

// reconnect waits for the next server; nil when the client ends before.
func (r *relay) reconnect(ctx context.Context) *upstream {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-ctx.Done():
		case <-r.ended:
		case <-r.broken:
		}
	}()
	r.Log.Warn("the server has gone; looking for the next one")
	patience := time.NewTimer(r.Patience)
	defer patience.Stop()
	var refused <-chan []byte // nil while requests may wait
	var said string
	for {
		u, err := r.begin(ctx)
		if err == nil {
			return u
		}
		if text := err.Error(); text != said && ctx.Err() == nil {
			r.Log.Debug("no server yet", "error", text)
			said = text
		}
		for pause := time.After(reconnectEvery); pause != nil; {
			select {
			case <-ctx.Done():
				return nil
			case <-patience.C:
				r.Log.Error("no server has taken over; calls are refused until one does", "error", err)
				r.refuse(r.first...)
				r.first, refused = nil, r.lines
			case line, ok := <-refused:
				if !ok {
					return nil
				}
				r.refuse(line)
			case <-pause:
				pause = nil
			}
		}
	}
}

// begin connects, and says again what a server has to hear once from a client of
// a protocol version with a handshake.
func (r *relay) begin(ctx context.Context) (*upstream, error) {
	link, err := r.Reconnect(ctx)
	if err != nil {
		return nil, err
	}
	u := newUpstream(link)
	if err := r.greet(ctx, u); err != nil {
		u.Close()
		return nil, fmt.Errorf("shake hands: %w", err)
	}
	return u, nil
}

func (r *relay) greet(ctx context.Context, u *upstream) error {
	if !r.greeted { // no need, or it is still to be answered, and so among the first
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { u.Close() })()
	if _, err := u.Write(r.hello.line); err != nil {
		return err
	}
	for want := key(r.hello.id); ; {
		line, err := readLine(u.r, maxLine)
		if err != nil {
			return err
		}
		if h := readHeader(line); h.isResponse() && key(h.ID) == want {
			break // the client has had its answer
		}
	}
	if r.ready == nil {
		return nil
	}
	_, err := u.Write(r.ready)
	return err
}
