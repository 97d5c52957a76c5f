package httpapi

import (
	"encoding/base64"
	"strings"
	"testing"
)

// Whatever a Range header says, the part is inside the file.
func FuzzRange(f *testing.F) {
	for _, s := range []string{"bytes=0-1", "bytes=-1", "bytes=5-", "bytes=9-1", "bytes=-", "x", "bytes= 1 - 2 ", "bytes=0-9223372036854775807"} {
		f.Add(s, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		size = max(size, 0)
		p, err := parseRange(header, size)
		if err == nil && p != whole && (p.from < 0 || p.length < 1 || p.from+p.length > size) {
			t.Errorf("%q of %d bytes is %+v", header, size, p)
		}
	})
}

// Base64 of either alphabet gives the bytes back.
func FuzzBase64(f *testing.F) {
	f.Add("a/\xff\xfe")
	f.Fuzz(func(t *testing.T, path string) {
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			if got, err := fromBase64("p", e.EncodeToString([]byte(path))); err != nil || got != path {
				t.Errorf("%q: %q, %v", path, got, err)
			}
		}
	})
}

// Hosts that are not this machine's stay out, however they are written.
func FuzzHosts(f *testing.F) {
	for _, s := range []string{"localhost", "evil.com", "[::1]:80", "127.0.0.1.evil.com", "localhost:evil.com"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if IsLoopback(host) && strings.Contains(strings.ToLower(bareHost(host)), "evil") {
			t.Errorf("%q passes for this machine", host)
		}
	})
}
