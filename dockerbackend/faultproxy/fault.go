package faultproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Fault is a way in which a call can go wrong. But for Slow, none gives the
// client a true answer.
type Fault string

const (
	Drop      Fault = "drop"       // the connection breaks; Docker never hears of the call
	Lose      Fault = "lose"       // Docker does it; the connection breaks before the answer
	Cut       Fault = "cut"        // Docker does it; the connection breaks within the answer
	Hang      Fault = "hang"       // no answer; Docker never hears of the call
	HangAfter Fault = "hang-after" // Docker does it; no answer
	Late      Fault = "late"       // no answer; Docker does it once the client has given up
	Status500 Fault = "500"        // Docker's own kind of error; nothing is done
	Status409 Fault = "409"        // Docker's word for a clash; nothing is done
	Status502 Fault = "502"        // a gateway's kind of error; nothing is done
	NotJSON   Fault = "not-json"   // success with a text that is no JSON; nothing is done
	Empty     Fault = "empty"      // success with a JSON object that says nothing; nothing is done
	NotHTTP   Fault = "not-http"   // bytes of no protocol; nothing is done
	Slow      Fault = "slow"       // Docker does it, and all is well after a second or two
)

// Faults is all of them.
var Faults = []Fault{Drop, Lose, Cut, Hang, HangAfter, Late, Status500, Status409, Status502, NotJSON, Empty, NotHTTP, Slow}

// Text is in every answer that a fault makes up. A client of the product must
// never see it.
const Text = "raw text of the daemon at /var/lib/docker"

const slowness = 1500 * time.Millisecond

// fail answers a call wrongly.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, f Fault, lifted <-chan struct{}) {
	switch f {
	case Drop:
		hangUp(w, "")
	case NotHTTP:
		hangUp(w, "\x00\x01garbage "+Text+"\r\n\r\n")
	case Status500:
		respond(w, http.StatusInternalServerError, "application/json", fmt.Sprintf(`{"message":%q}`, Text))
	case Status409:
		respond(w, http.StatusConflict, "application/json", fmt.Sprintf(`{"message":%q}`, Text))
	case Status502:
		respond(w, http.StatusBadGateway, "text/html", "<html>"+Text+"</html>")
	case NotJSON:
		respond(w, http.StatusOK, "text/plain", Text)
	case Empty:
		respond(w, http.StatusOK, "application/json", "{}")
	case Slow:
		select {
		case <-time.After(slowness):
		case <-lifted:
		}
		p.pass.ServeHTTP(w, r)
	default:
		p.failAround(w, r, f, lifted)
	}
}

// failAround is the faults of calls that Docker may get.
func (p *Proxy) failAround(w http.ResponseWriter, r *http.Request, f Fault, lifted <-chan struct{}) {
	body, err := io.ReadAll(r.Body) // with it read, the server notices when the client leaves
	if err != nil {
		return
	}
	var answer []byte
	switch f {
	case Lose, Cut, HangAfter:
		answer = p.deliver(r, body)
	}
	switch f {
	case Hang, HangAfter, Late:
		select {
		case <-r.Context().Done():
		case <-lifted:
		}
	}
	switch f {
	case Late:
		p.deliver(r, body)
	case Cut:
		hangUp(w, string(answer[:len(answer)*2/3]))
		return
	}
	hangUp(w, "")
}

// deliver lets Docker have a call, and gives its answer, as it would be sent.
func (p *Proxy) deliver(r *http.Request, body []byte) []byte {
	conn, err := p.dial()
	if err != nil {
		return nil
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	again := r.Clone(p.ctx)
	again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if err := again.Write(conn); err != nil {
		return nil
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), again)
	if err != nil {
		return nil
	}
	if response.StatusCode == http.StatusSwitchingProtocols || r.Header.Get("Upgrade") != "" {
		response.Body = http.NoBody // what follows is a stream
	}
	var answer bytes.Buffer
	response.Write(&answer)
	return answer.Bytes()
}

func respond(w http.ResponseWriter, status int, kind, body string) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// hangUp closes a connection, after sending some last bytes.
func hangUp(w http.ResponseWriter, last string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	io.WriteString(conn, last)
	conn.Close()
}
