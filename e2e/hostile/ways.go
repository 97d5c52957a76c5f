//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// ways of speaking after a greeting. The first are frames of HTTP/2 on the first
// call, which asks what the guest is; the others answer that call, and then
// do the wrong thing as well-formed HTTP.
var ways = map[string]func(*session){
	"junk after the greeting": raw(bytes.Repeat([]byte("\xff\x00no HTTP"), 1000)),
	"endless headers":         raw(frame(headers, 0, 1, ok), frame(continuation, 0, 1, strings.Repeat("\x00\x01a\x7f\x00"+strings.Repeat("b", 127), 50))),
	"endless early answers":   raw(frame(headers, endHeaders, 1, "\x08\x03103\x00\x01a\x7f\x00"+strings.Repeat("b", 127))),
	"endless pings":           raw(frame(ping, 0, 0, "12345678")),
	"endless settings":        raw(frame(settings, 0, 0, "\x00\x03\x00\x00\x00\x01")),
	"empty frames":            raw(frame(headers, endHeaders, 1, ok), frame(data, 0, 1, "")),
	"data past the window":    raw(frame(headers, endHeaders, 1, ok), frame(data, 0, 1, strings.Repeat(" ", 16<<10))),
	"no hello":                raw(),

	"no answers":    served(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	"blank answers": served(endless(nil, bytes.Repeat([]byte(" "), 32<<10))),
	"endless output": served(endless(http.Header{protocol.InfoHeader: {`{"type":"file","size":1}`}},
		output(protocol.Stdout, strings.Repeat("yes\n", 8<<10)))),
	"huge headers": served(func(w http.ResponseWriter, r *http.Request) {
		for name := 'a'; name <= 'z'; name++ {
			w.Header().Set(string(name), strings.Repeat("x", 64<<10))
		}
	}),
	"no input taken": func(s *session) {
		s.serve(func(w http.ResponseWriter, r *http.Request) {
			s.deaf.Store(true)
			<-r.Context().Done()
		})
	},
}

// Frames of HTTP/2.
const (
	data, headers, settings, ping, continuation = 0, 1, 4, 6, 9

	endHeaders = 4
	ok         = "\x88" // the header that says 200
)

func frame(kind, flags byte, stream uint32, payload string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
	b = append(b, kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// raw says first once there is a call, and the last of what it is given for ever.
func raw(say ...[]byte) func(*session) {
	return func(s *session) {
		if _, err := io.CopyN(io.Discard, s.in, 100); err != nil { // the preface, and a call
			return
		}
		go io.Copy(io.Discard, s.in)
		s.Write(frame(settings, 0, 0, ""))
		for i := 0; len(say) > 0; i++ {
			if _, err := s.Write(say[min(i, len(say)-1)]); err != nil {
				return
			}
		}
	}
}

func output(stream protocol.Stream, text string) []byte {
	b := append(make([]byte, protocol.FrameHeaderSize), text...)
	protocol.PutFrameHeader(b, stream, len(text))
	return b
}

func endless(h http.Header, chunk []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for name, values := range h {
			w.Header()[name] = values
		}
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
}

func served(handler http.HandlerFunc) func(*session) {
	return func(s *session) { s.serve(handler) }
}

// serve answers the calls of a session, and what a guest has to say of itself.
func (s *session) serve(handler http.HandlerFunc) {
	all := http.NewServeMux()
	all.HandleFunc("/", handler)
	all.HandleFunc(protocol.PathHello, func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(protocol.Hello{Version: protocol.Version, Started: time.Now()})
	})
	server := &http.Server{Handler: all, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	server.Serve(&listener{s: s})
}

// listener has one connection, the session.
type listener struct {
	s    *session
	over bool
}

func (l *listener) Accept() (net.Conn, error) {
	if l.over {
		return nil, net.ErrClosed
	}
	l.over = true
	return l.s, nil
}

func (l *listener) Close() error   { return nil }
func (l *listener) Addr() net.Addr { return &net.UnixAddr{} }

func (s *session) Read(p []byte) (int, error) {
	for s.deaf.Load() {
		time.Sleep(time.Hour)
	}
	return s.in.Read(p)
}

func (s *session) Close() error                     { return s.in.Close() }
func (s *session) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (s *session) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (s *session) SetDeadline(time.Time) error      { return nil }
func (s *session) SetReadDeadline(time.Time) error  { return nil }
func (s *session) SetWriteDeadline(time.Time) error { return nil }
