package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// answerer is who answers a request.
type answerer int

const (
	ours    answerer = iota // {"error":{…}}, as docs/api.md has it
	rpc                     // a JSON-RPC error, at the doors of MCP
	library                 // net/http itself, in plain text: no handler ever saw the request
	nobody                  // the connection ends without an answer
	someone                 // any of these, or an answer that all is well
)

func (a answerer) String() string {
	return [...]string{"ours", "JSON-RPC", "net/http", "none", "any"}[a]
}

// ending is what becomes of a connection once the request is sent.
type ending int

const (
	wait  ending = iota // for the answer
	half                // no more comes, but the answer is read
	cut                 // closed before there can be an answer
	reset               // the same, the rude way
)

// oddity is one kind of malformed request.
type oddity struct {
	family string
	name   string
	raw    func(i int) string
	ending ending
	by     answerer
	status []int
}

// tally is what came of a family.
type tally struct {
	sent     int
	by       map[answerer]int
	statuses map[int]int
}

// nonsense sends each kind in turn, and meanwhile some bodies that are slow.
func (l *load) nonsense() error {
	kinds := l.oddities()
	seen := &counts{of: map[string]*tally{}}
	times := make([]time.Duration, *malformed)
	err := l.measured(fmt.Sprint(*malformed, " malformed requests"), func() {
		var slow sync.WaitGroup
		slow.Go(func() { l.slow(seen) })
		var free pool
		each(*malformed, *inFlight, func(i int) {
			began := time.Now()
			l.one(&free, kinds[i%len(kinds)], i, seen)
			times[i] = time.Since(began)
		})
		free.close()
		slow.Wait()
	})
	l.times.spread(fmt.Sprintf("malformed request, %d in flight", *inFlight), times, "")
	total := &tally{by: map[answerer]int{}, statuses: map[int]int{}}
	for _, family := range slices.Sorted(maps.Keys(seen.of)) {
		t := seen.of[family]
		l.answers.line(family, t.cells(true)...)
		total.sent += t.sent
		for b, n := range t.by {
			total.by[b] += n
		}
	}
	l.answers.line("all", total.cells(false)...)
	return err
}

func (t *tally) cells(statuses bool) []string {
	cells := []string{fmt.Sprint(t.sent)}
	for _, b := range []answerer{ours, rpc, library, nobody} {
		cells = append(cells, fmt.Sprint(t.by[b]))
	}
	var all []string
	for _, s := range slices.Sorted(maps.Keys(t.statuses)) {
		all = append(all, fmt.Sprint(s))
	}
	if statuses {
		cells = append(cells, strings.Join(all, " "))
	}
	return cells
}

type counts struct {
	mu sync.Mutex
	of map[string]*tally
}

func (c *counts) add(family string, b answerer, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.of[family]
	if t == nil {
		t = &tally{by: map[answerer]int{}, statuses: map[int]int{}}
		c.of[family] = t
	}
	t.sent++
	t.by[b]++
	if status != 0 {
		t.statuses[status]++
	}
}

// one sends a request and judges the answer.
func (l *load) one(free *pool, k oddity, i int, seen *counts) {
	c, err := free.get(l)
	if err != nil {
		l.faults.add("%s: %v", k.name, err)
		return
	}
	a := c.ask(k, k.raw(i))
	seen.add(k.family, a.by, a.status)
	if fault := a.fault(k); fault != "" {
		l.faults.add("%s (%s, request %d): %s", k.name, k.family, i, fault)
	}
	if a.goesOn {
		free.put(c)
	} else {
		c.Close()
	}
}

// answer is what came back.
type answer struct {
	by      answerer
	status  int
	text    string // the beginning of it
	problem string
	goesOn  bool // the connection can take another request
}

func (a answer) fault(k oddity) string {
	switch {
	case a.problem != "":
		return fmt.Sprintf("%s: %d %s", a.problem, a.status, a.text)
	case k.by == someone:
		return ""
	case k.by != a.by || len(k.status) > 0 && !slices.Contains(k.status, a.status):
		return fmt.Sprintf("answered by %s, not %s: %d %s", a.by, k.by, a.status, a.text)
	}
	return ""
}

// wire is a connection that is kept as long as the server keeps it.
type wire struct {
	*net.TCPConn
	in *bufio.Reader
}

// patience is how long any answer is waited for.
const patience = 30 * time.Second

func (w *wire) ask(k oddity, raw string) answer {
	_ = w.SetDeadline(time.Now().Add(patience))
	// The server may well hang up before it has got all: then that is what shows
	// in what can be read.
	_, _ = io.WriteString(w, raw)
	switch k.ending {
	case half:
		_ = w.CloseWrite()
	case reset:
		_ = w.SetLinger(0)
		return answer{by: nobody}
	case cut:
		return answer{by: nobody}
	}
	method, _, _ := strings.Cut(raw, " ")
	a := w.read(method)
	a.goesOn = a.goesOn && k.ending == wait
	return a
}

func (w *wire) read(method string) answer {
	r, err := http.ReadResponse(w.in, &http.Request{Method: method})
	for err == nil && r.StatusCode == http.StatusContinue {
		r, err = http.ReadResponse(w.in, &http.Request{Method: method})
	}
	if err != nil {
		if t, ok := err.(net.Error); ok && t.Timeout() {
			return answer{by: nobody, problem: "no answer in " + patience.String()}
		}
		return answer{by: nobody, text: err.Error()}
	}
	body, err := io.ReadAll(r.Body)
	a := judge(r, body, method)
	a.goesOn = err == nil && !r.Close
	if err != nil {
		a.problem = "the answer is cut off: " + err.Error()
	} else if r.Close {
		if more, _ := io.ReadAll(w.in); len(more) > 0 {
			a.problem = fmt.Sprintf("something follows the last answer: %.200q", more)
		}
	}
	return a
}

// judge tells who has answered, and whether it is typed as it should be.
func judge(r *http.Response, body []byte, method string) answer {
	a := answer{status: r.StatusCode, text: strings.TrimSpace(fmt.Sprintf("%.300s", body))}
	if r.StatusCode < 300 {
		a.by = someone
		return a
	}
	if r.Header.Get("X-Request-Id") == "" { // each of our answers has one
		a.by = library
		if !slices.Contains([]int{400, 417, 431, 501, 505}, r.StatusCode) || r.Header.Get("Content-Type") == "application/json" {
			a.problem = "neither ours nor net/http's"
		}
		return a
	}
	if r.Header.Get("Content-Type") != "application/json" {
		a.problem = "no JSON, but " + r.Header.Get("Content-Type")
		return a
	}
	if method == http.MethodHead {
		return a
	}
	if bytes.HasPrefix(body, []byte(`{"jsonrpc"`)) {
		a.by, a.problem = rpc, jsonRPC(body)
	} else {
		a.problem = typed(body, r.StatusCode)
	}
	return a
}

// statuses are those of docs/api.md.
var statuses = map[schemas.Code][]int{
	schemas.CodeInvalidRequest: {400, 416}, schemas.CodeUnauthorized: {401}, schemas.CodeForbidden: {403}, schemas.CodeNotFound: {404},
	schemas.CodeMethodNotAllowed: {405}, schemas.CodeConflict: {409}, schemas.CodeSandboxGone: {410}, schemas.CodePayloadTooLarge: {413},
	schemas.CodeLimitExceeded: {429}, schemas.CodeBackendUnavailable: {503}, // 500 and 502 should not come of this
}

func typed(body []byte, status int) string {
	var e schemas.ErrorBody
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return "not typed: " + err.Error()
	}
	if !slices.Contains(statuses[e.Error.Code], status) || e.Error.Message == "" || e.Error.Hint == "" {
		return "not typed well"
	}
	return ""
}

func jsonRPC(body []byte) string {
	var e struct {
		JSONRPC string
		Error   struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(body, &e); err != nil || e.JSONRPC != "2.0" || e.Error.Code >= 0 || e.Error.Message == "" {
		return "no JSON-RPC error"
	}
	return ""
}

// pool has the connections that go on.
type pool struct {
	mu   sync.Mutex
	free []*wire
}

func (p *pool) get(l *load) (*wire, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		w := p.free[n-1]
		p.free = p.free[:n-1]
		return w, nil
	}
	c, err := l.dial()
	if err != nil {
		return nil, err
	}
	return newWire(c), nil
}

func (p *pool) put(w *wire) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, w)
}

func (p *pool) close() {
	for _, w := range p.free {
		w.Close()
	}
}

func newWire(c *net.TCPConn) *wire { return &wire{c, bufio.NewReader(c)} }
