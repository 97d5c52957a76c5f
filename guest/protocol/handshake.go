package protocol

import "bytes"

// Sizes of the handshake's two random strings.
const (
	KeySize   = 32
	NonceSize = 16
)

// Key is a container's secret, kept by the server beside its record. It marks
// a handshake in a stream that may hold anything else, file content from inside
// the sandbox included, which is why no constant would do.
type Key = [KeySize]byte

// Nonce tells one session's handshake from that of another.
type Nonce = [NonceSize]byte

// Greeting is what a server sends when it attaches: key, key, nonce.
//
// A fresh guest takes the first key as its own and meets the second as the
// start of a session. A guest that has its key meets it twice, and starts over
// at the second. So the server need not know which of the two it has before it.
func Greeting(key Key, nonce Nonce) []byte {
	return append(append(append(make([]byte, 0, 2*KeySize+NonceSize), key[:]...), key[:]...), nonce[:]...)
}

// Answer is what a guest sends before the first byte of the new session; the
// server discards everything that comes before it.
func Answer(key Key, nonce Nonce) []byte {
	return append(append(make([]byte, 0, KeySize+NonceSize), key[:]...), nonce[:]...)
}

// Matcher finds a pattern in a stream that comes in pieces, however it is cut
// and whatever precedes it (Knuth, Morris and Pratt).
type Matcher struct {
	pattern []byte
	fail    []int // fail[i]: longest proper prefix of pattern that ends pattern[:i+1]
	state   int   // bytes of pattern matched so far
}

// NewMatcher looks for pattern, which must not be empty.
func NewMatcher(pattern []byte) *Matcher {
	m := &Matcher{pattern: bytes.Clone(pattern), fail: make([]int, len(pattern))}
	for i, k := 1, 0; i < len(pattern); i++ {
		for k > 0 && pattern[i] != pattern[k] {
			k = m.fail[k-1]
		}
		if pattern[i] == pattern[k] {
			k++
		}
		m.fail[i] = k
	}
	return m
}

// Find consumes p up to the end of the first match and returns how many bytes
// that were; without a match it consumes all of p. After a match it starts
// afresh.
func (m *Matcher) Find(p []byte) (n int, found bool) {
	for i := 0; i < len(p); i++ {
		if m.state == 0 { // almost always: skip ahead as fast as memory allows
			skip := bytes.IndexByte(p[i:], m.pattern[0])
			if skip < 0 {
				break
			}
			i += skip
		}
		m.step(p[i])
		if m.state == len(m.pattern) {
			m.state = 0
			return i + 1, true
		}
	}
	return len(p), false
}

func (m *Matcher) step(b byte) {
	for m.state > 0 && m.pattern[m.state] != b {
		m.state = m.fail[m.state-1]
	}
	if m.pattern[m.state] == b {
		m.state++
	}
}
