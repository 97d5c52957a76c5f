package protocol

// Scanner finds greetings in a guest's input. Its zero value belongs to a
// fresh guest, which takes the first KeySize bytes as its key.
type Scanner struct {
	key     Key
	keySize int // bytes of key received
	match   *Matcher

	inNonce   bool
	nonce     Nonce
	nonceSize int
}

// Key is the guest's key; all zero until a Scan has found a nonce.
func (s *Scanner) Key() Key { return s.key }

// Scan consumes p up to the end of the first greeting in it and returns how
// many bytes that were and the greeting's nonce; without one it consumes all.
// What it consumes still belongs to the session before, if there was one.
func (s *Scanner) Scan(p []byte) (n int, nonce Nonce, found bool) {
	n = s.takeKey(p)
	for n < len(p) {
		if !s.inNonce {
			k, matched := s.match.Find(p[n:])
			n, s.inNonce = n+k, matched
			continue
		}
		n += s.takeNonce(p[n:])
		if s.nonceSize == NonceSize && s.endNonce() {
			return n, s.nonce, true
		}
	}
	return n, Nonce{}, false
}

func (s *Scanner) takeKey(p []byte) int {
	if s.match != nil {
		return 0
	}
	n := copy(s.key[s.keySize:], p)
	if s.keySize += n; s.keySize == KeySize {
		s.match = NewMatcher(s.key[:])
	}
	return n
}

func (s *Scanner) takeNonce(p []byte) int {
	n := copy(s.nonce[s.nonceSize:], p)
	s.nonceSize += n
	return n
}

// endNonce reports whether the bytes after a key were a nonce. When they are
// the beginning of the key itself, this was the first of a greeting's two keys,
// and matching goes on inside the second.
func (s *Scanner) endNonce() bool {
	s.inNonce, s.nonceSize = false, 0
	if s.nonce == Nonce(s.key[:NonceSize]) {
		s.match.state = NonceSize
		return false
	}
	return true
}
