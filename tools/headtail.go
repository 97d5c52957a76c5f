package tools

// headTail keeps the first and the last bytes of a stream of any length, in
// memory that does not grow with it.
type headTail struct {
	headCap, tailCap int

	gap   bool // bytes are missing that were never here
	head  []byte
	tail  []byte // its last tailCap bytes count; older ones are dropped in batches
	total int64
}

// newHeadTail keeps limit bytes, the halves of which are head and tail.
func newHeadTail(limit int) *headTail {
	return &headTail{headCap: limit - limit/2, tailCap: limit / 2}
}

// newHead keeps the first limit bytes.
func newHead(limit int) *headTail { return &headTail{headCap: limit} }

func (h *headTail) add(p []byte) {
	h.total += int64(len(p))
	n := min(len(p), h.headCap-len(h.head))
	h.head = append(h.head, p[:n]...)
	p = p[n:]
	p = p[max(0, len(p)-h.tailCap):]
	h.tail = append(h.tail, p...)
	if len(h.tail) > 2*h.tailCap {
		h.tail = append(h.tail[:0], h.tail[len(h.tail)-h.tailCap:]...)
	}
}

// skip counts bytes that cannot be had any more. What comes after them is tail.
func (h *headTail) skip(n int64) {
	if n <= 0 {
		return
	}
	h.total, h.gap = h.total+n, true
	switch {
	case h.tailCap > 0:
		h.tailCap += h.headCap - len(h.head)
	case len(h.head) == 0: // it keeps a head only, and that may begin here
		return
	}
	h.headCap, h.tail = len(h.head), h.tail[:0]
}

// trim takes away the beginning of a character at the end.
func (h *headTail) trim() {
	end := &h.tail
	if len(h.tail) == 0 && h.whole() {
		end = &h.head
	}
	n := len(partial(*end))
	*end = (*end)[:len(*end)-n]
	h.total -= int64(n)
}

// whole tells whether nothing is missing between head and tail.
func (h *headTail) whole() bool { return !h.gap && h.total <= int64(h.headCap+h.tailCap) }

// parts are the bytes kept. When the stream is whole all of it is in the first.
func (h *headTail) parts() (head, tail []byte) {
	if h.whole() {
		return append(h.head[:len(h.head):len(h.head)], h.tail...), nil
	}
	tail = h.tail[max(0, len(h.tail)-h.tailCap):]
	if tail == nil {
		tail = []byte{}
	}
	return h.head, tail
}
