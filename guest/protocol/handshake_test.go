package protocol

import (
	"bytes"
	"testing"
)

var (
	testKey   = Key([]byte("0123456789abcdefghijklmnopqrstuv"))
	testNonce = Nonce([]byte("sixteen bytes..."))
)

// scanAll feeds input in pieces of size and returns every nonce found, with
// what came after the last.
func scanAll(s *Scanner, input []byte, size int) (nonces []Nonce, rest []byte) {
	for len(input) > 0 {
		piece := input[:min(size, len(input))]
		input = input[len(piece):]
		for len(piece) > 0 {
			n, nonce, found := s.Scan(piece)
			if found {
				nonces, rest = append(nonces, nonce), nil
			} else {
				rest = append(rest, piece[:n]...)
			}
			piece = piece[n:]
		}
	}
	return nonces, rest
}

func TestGreetingIsFound(t *testing.T) {
	greeting := Greeting(testKey, testNonce)
	var stale []byte // all that an old session might have left
	for i := range 200 {
		stale = append(stale, testKey[:i%33]...)
	}
	for size := 1; size < 100; size++ {
		s := &Scanner{}
		fresh := append(bytes.Clone(greeting), "session"...)
		nonces, rest := scanAll(s, fresh, size)
		if len(nonces) != 1 || nonces[0] != testNonce || string(rest) != "session" {
			t.Fatalf("fresh, in pieces of %d: %q, %q", size, nonces, rest)
		}
		again := append(append(bytes.Clone(stale), greeting...), "next"...)
		nonces, rest = scanAll(s, again, size)
		if len(nonces) == 0 || nonces[len(nonces)-1] != testNonce || string(rest) != "next" {
			t.Fatalf("again, in pieces of %d: %q, %q", size, nonces, rest)
		}
	}
}

// A greeting may be cut anywhere and be followed by a whole one; only a cut
// within the very first key is beyond help.
func TestTornGreetingIsSurvived(t *testing.T) {
	second := Nonce{2}
	for cut := KeySize; cut <= 2*KeySize+NonceSize; cut++ {
		input := append(Greeting(testKey, testNonce)[:cut:cut], Greeting(testKey, second)...)
		nonces, _ := scanAll(&Scanner{}, input, len(input))
		if len(nonces) == 0 || nonces[len(nonces)-1] != second {
			t.Errorf("cut after %d bytes: found %q", cut, nonces)
		}
	}
}

func TestMatcherOnPatternsThatRepeat(t *testing.T) {
	for _, pattern := range []string{"a", "aa", "abab", "aabaab", "abcabd"} {
		text := "xabababcabcabdaabaabaaa" + pattern
		for size := 1; size < len(text); size++ {
			m, end := NewMatcher([]byte(pattern)), -1
			for at := 0; at < len(text) && end < 0; at += size {
				if n, found := m.Find([]byte(text[at:min(at+size, len(text))])); found {
					end = at + n
				}
			}
			if want := bytes.Index([]byte(text), []byte(pattern)) + len(pattern); end != want {
				t.Errorf("%q in pieces of %d: ends at %d, want %d", pattern, size, end, want)
			}
		}
	}
}

// FuzzHandshake: whatever an old session left, in whatever pieces it comes, the
// greeting after it is found by a guest with a key, and its answer by a server.
func FuzzHandshake(f *testing.F) {
	f.Add([]byte(nil), 1)
	f.Add([]byte("PRI * HTTP/2.0"), 7)
	f.Add(testKey[:], 3)
	f.Add(append(testKey[:], testKey[:20]...), 5)
	f.Add(Greeting(testKey, testNonce)[:70], 64)
	f.Add(append(bytes.Repeat(testKey[:], 3), testNonce[:9]...), 2)
	f.Fuzz(func(t *testing.T, stale []byte, size int) {
		if size < 1 {
			size = 1
		}
		s := &Scanner{}
		scanAll(s, testKey[:], KeySize)
		nonces, rest := scanAll(s, append(bytes.Clone(stale), Greeting(testKey, testNonce)...), size)
		if len(nonces) == 0 || nonces[len(nonces)-1] != testNonce || len(rest) != 0 {
			t.Fatalf("guest: found %q, rest %q", nonces, rest)
		}
		if s.Key() != testKey {
			t.Fatalf("guest: key %q", s.Key())
		}
		answer := Answer(testKey, testNonce)
		input := append(bytes.Clone(stale), answer...)
		n, found := NewMatcher(answer).Find(input)
		if want := bytes.Index(input, answer) + len(answer); !found || n != want {
			t.Fatalf("server: found %v at %d, want %d", found, n, want)
		}
	})
}
