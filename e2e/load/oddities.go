package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// builder makes the list of oddities.
type builder struct {
	l    *load
	list []oddity
	box  string // the path of a sandbox that lives
}

func (l *load) oddities() []oddity {
	b := &builder{l: l, box: "/v1/sandboxes/" + string(l.boxes[0])}
	b.bodies()
	b.routes()
	b.identities()
	b.transfers()
	b.heads()
	b.halves()
	b.mcp()
	b.mutants()
	return b.list
}

func (b *builder) add(family, name string, by answerer, status int, ending ending, raw func(i int) string) {
	o := oddity{family: family, name: name, raw: raw, ending: ending, by: by}
	if status != 0 {
		o.status = []int{status}
	}
	b.list = append(b.list, o)
}

// refused is a whole request with a key, and our answer to it.
func (b *builder) refused(family, method, target, body string, status int, headers ...string) {
	name := fmt.Sprintf("%.80s %.80q", method+" "+target, body)
	b.add(family, name, ours, status, wait, func(int) string { return b.l.text(method, target, body, headers...) })
}

func (b *builder) bodies() {
	for _, body := range []string{
		`{`, `{"command":}`, `{"command":"true"`, `{"command":"true"} {}`, `{'command':'true'}`, `{"command":"true",}`, `nul`, `\x00\x01`, `{"command":"\x"}`,
		"\xff\xfe{}", "\x1f\x8b\x08\x00\x00", strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 20_000), `<xml/>`, "a=b&c=d", `{"command":"a` + "\n" + `"}`,
	} {
		b.refused("bad JSON", "POST", b.box+"/exec", body, 400)
	}
	for _, body := range []string{
		`[]`, `"true"`, `1`, `true`, `[{"command":"true"}]`, `{"command":1}`, `{"command":{}}`, `{"command":[1]}`, `{"command":[]}`, `{"command":""}`,
		`{"command":"true","timeout_seconds":"1"}`, `{"command":"true","timeout_seconds":-1}`, `{"command":"true","timeout_seconds":1e400}`,
		`{"command":"true","env":[]}`, `{"command":"true","env":{"A":1}}`, `{"command":"true","env":{"A=B":"c"}}`, `{"command":"true","encoding":"latin1"}`,
		`{"command":"true","max_output_bytes":1.5}`, `{"command":"true","workdir":7}`, `{"command":"true","stdin":"a","stdin_base64":"YQ=="}`,
		`{"command":"true","stdin_base64":"*"}`, `{"command":"tr\u0000ue"}`, `{}`, ``,
	} {
		b.refused("wrong types", "POST", b.box+"/exec", body, 400)
		b.refused("wrong types", "POST", b.box+"/exec/stream", body, 400)
	}
	for _, body := range []string{
		`{"memory_mb":"512"}`, `{"cpus":-1}`, `{"cpus":"x"}`, `{"network":"yes"}`, `{"timeout_seconds":1.5}`, `{"pids_limit":99999999999999999999}`, `{"name":[]}`, `{"image":3}`,
	} {
		b.refused("wrong types", "POST", "/v1/sandboxes", body, 400)
	}
	b.refused("unknown fields", "POST", b.box+"/exec", `{"command":"true","cmd":"true"}`, 400)
	b.refused("unknown fields", "POST", b.box+"/exec", `{"Command":"true"}`, 400)
	b.refused("unknown fields", "POST", "/v1/sandboxes", `{"privileged":true}`, 400)
	b.refused("unknown fields", "POST", "/v1/sandboxes", `{"`+strings.Repeat("k", 10_000)+`":1}`, 400)
	for _, query := range []string{"?x=1", "?limit=0", "?limit=x", "?limit=-1", "?limit=1&limit=2", "?cursor=%zz", "?%", "?limit=99999999999999999999", "?a;b", "?cursor=nonsense"} {
		b.refused("bad queries", "GET", "/v1/sandboxes"+query, "", 400)
	}
	for _, query := range []string{"", "?path=", "?path=%00", "?path=a&path=b", "?path=a&path_base64=YQ", "?path_base64=*", "?path=" + strings.Repeat("n", 5000)} {
		b.refused("bad queries", "GET", b.box+"/files"+query, "", 400)
	}
	for _, query := range []string{"?path=/etc/passwd", "?path=..%2f..%2fx", "?path=a&mode=999", "?path=a&mode=rw", "?path=a&mode=04755", "?path=/workspace"} {
		b.refused("bad queries", "PUT", b.box+"/files"+query, "x", 400)
	}
}

func (b *builder) routes() {
	for _, method := range []string{"PATCH", "PUT", "TRACE", "FOO", "get", "PROPFIND", "POSTPOST"} {
		b.refused("wrong methods", method, "/v1/sandboxes", "", 405)
	}
	b.refused("wrong methods", "DELETE", "/v1/sandboxes", "", 405)
	b.refused("wrong methods", "GET", b.box+"/exec", "", 405)
	b.refused("wrong methods", "HEAD", b.box+"/exec", "", 405)
	b.refused("wrong methods", "POST", b.box, "{}", 405)
	for _, method := range []string{"GET", "OPTIONS", "TRACE"} {
		b.refused("no such route", method, "*", "", 404)
	}
	for _, target := range []string{"/", "/v1", "/v1/", "/v2/sandboxes", "/v1/sandboxes/", "/v1//sandboxes", "/v1/../etc/passwd", "/v1/sandboxes/%2e%2e/x", "/v1/sandboxes/%2e%2e%2f/exec", "//", "/%00", "/favicon.ico", "/.git/config",
		"/v1/sandboxes/a/b/c/d", "/" + strings.Repeat("a", 8000), "http://localhost/nothing"} {
		b.refused("no such route", "GET", target, "", 404)
	}
	for _, id := range []string{"x", "%00", "sb_", "sb_%2fetc", strings.Repeat("f", 4000), "$(id)", "%ff%fe", "sb_" + strings.Repeat("Z", 32)} {
		b.refused("bad IDs", "GET", "/v1/sandboxes/"+id, "", 400)
		b.refused("bad IDs", "POST", "/v1/sandboxes/"+id+"/exec", `{"command":"true"}`, 400)
		b.refused("bad IDs", "DELETE", "/v1/snapshots/"+id, "", 400)
	}
	never := b.box[:len(b.box)-8] + "00000000"
	b.refused("bad IDs", "GET", never, "", 404)
	b.refused("bad IDs", "POST", never+"/exec", `{"command":"true"}`, 404)
	b.refused("bad IDs", "POST", b.box+"/rollback", `{"snapshot_id":"x"}`, 400)
}

func (b *builder) identities() {
	keys := []string{"X-A: b", "Authorization: Bearer", "Authorization: Bearer wrong-key-wrong-key", "Authorization: Basic YTpi", "X-API-Key: ", "X-API-Key: " + strings.Repeat("k", 30_000),
		"Authorization: Bearer " + b.l.client.Key + "\r\nAuthorization: Bearer " + b.l.client.Key, "X-API-Key: wrong\r\nAuthorization: Bearer " + b.l.client.Key}
	for _, header := range keys {
		for _, target := range []string{"/v1/sandboxes", "/nothing", "/metrics", "/mcp"} {
			b.add("bad keys", header, ours, 401, wait, func(int) string { return head("GET", target, header) })
		}
	}
	b.add("bad keys", "OPTIONS *", ours, 401, wait, func(int) string { return head("OPTIONS", "*") })
	b.add("bad keys", "a body without a key", ours, 401, wait, func(int) string {
		return head("POST", "/v1/sandboxes", "Content-Length: 200000") + strings.Repeat("x", 200_000)
	})
	for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "1.2.3.4", ""} {
		b.add("bad Host, Origin", "Host: "+host, ours, 403, wait, func(int) string {
			return "GET /v1/sandboxes HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer " + b.l.client.Key + "\r\n\r\n"
		})
	}
	b.refused("bad Host, Origin", "CONNECT", "evil.example:443", "", 403)
	for _, origin := range []string{"https://evil.example", "null", "http://", "file:///etc", "http://localhost/x", "http://localhost\r\nOrigin: http://localhost"} {
		b.refused("bad Host, Origin", "GET", "/v1/sandboxes", "", 403, "Origin: "+origin)
	}
}

// transfers are bodies that do not come as they were announced.
func (b *builder) transfers() {
	key := "Authorization: Bearer " + b.l.client.Key
	exec := func(headers ...string) string { return head("POST", b.box+"/exec", append(headers, key)...) }
	upload := func(headers ...string) string { return head("PUT", b.box+"/files?path=never", append(headers, key)...) }
	chunked := "Transfer-Encoding: chunked"
	for _, chunks := range []string{"zz\r\n", "-1\r\n{}\r\n0\r\n\r\n", "ffffffffffffffffff\r\n{}", "2\r\n{}xx\r\n0\r\n\r\n", "2\r\n{}2\r\n", "2 x\r\n{}\r\n", "\r\n\r\n", "0x2\r\n{}\r\n0\r\n\r\n",
		"1;" + strings.Repeat("e", 5000) + "\r\n{\r\n", strings.Repeat("1;"+strings.Repeat("e", 2000)+"\r\n{\r\n", 20)} {
		b.add("bad chunks", fmt.Sprintf("exec %.40q", chunks), ours, 400, wait, func(int) string { return exec(chunked) + chunks })
		b.add("bad chunks", fmt.Sprintf("upload %.40q", chunks), ours, 400, wait, func(int) string { return upload(chunked) + chunks })
	}
	b.add("bad chunks", "a request hidden behind a bad chunk", ours, 400, wait, func(int) string {
		return exec(chunked) + "q\r\n" + head("GET", "/v1/sandboxes", key)
	})
	b.add("bad chunks", "no last chunk", ours, 400, half, func(int) string { return exec(chunked) + "2\r\n{}\r\n" })
	b.add("half bodies", "less than announced", ours, 400, half, func(int) string { return exec("Content-Length: 100") + `{"command":"true"` })
	b.add("half bodies", "upload, less than announced", ours, 400, half, func(int) string { return upload("Content-Length: 100") + "x" })
	b.add("half bodies", "nothing of it", ours, 400, half, func(int) string { return exec("Content-Length: 100") })
	b.add("too large", "announced", ours, 413, half, func(int) string { return exec("Content-Length: 999999999999") })
	b.add("too large", "announced, of an upload", ours, 413, half, func(int) string { return upload("Content-Length: 999999999999") })
	b.add("too large", "announced, and it would wait", ours, 413, wait, func(int) string {
		return exec("Content-Length: 999999999999", "Expect: 100-continue")
	})
	b.add("too large", "a body of 1.2 MiB", ours, 413, wait, func(int) string {
		return head("POST", "/v1/sandboxes", key, "Content-Length: 1258291") + strings.Repeat(" ", 1_258_291)
	})
}

// heads are those that net/http refuses by itself; handlers do not see them.
func (b *builder) heads() {
	key := "Authorization: Bearer " + b.l.client.Key
	get := func(headers ...string) string { return head("GET", "/v1/sandboxes", append(headers, key)...) }
	for _, line := range []string{"GARBAGE", "GET /", "GET  /v1/sandboxes HTTP/1.1", "GET /v1/sandboxes HTTP/1.1 x", "GET /v1/sand boxes HTTP/1.1", " GET / HTTP/1.1", "G\x00T / HTTP/1.1", "GET /%zz HTTP/1.1",
		"GET / HTTP/x.y", "GET nothing HTTP/1.1", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "SSH-2.0-OpenSSH_9.6", "GET /\x7f HTTP/1.1", "(){:;}; / HTTP/1.1"} {
		b.add("bad request lines", line, library, 400, half, func(int) string { return line + "\r\nHost: localhost\r\n\r\n" })
	}
	b.add("bad request lines", "HTTP/3.0", library, 505, half, func(int) string { return "GET / HTTP/3.0\r\nHost: localhost\r\n\r\n" })
	for _, header := range []string{"no colon", "na me: x", "na\x00me: x", "X-A: a\x00b", "Content-Length: x", "Content-Length: -1", "Content-Length: 1\r\nContent-Length: 2", "Content-Length: 99999999999999999999",
		"Host: localhost", ": x", " folded", "Content-Length: 1, 1"} {
		b.add("bad headers", header, library, 400, half, func(int) string { return "GET /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n\r\n" })
	}
	b.add("bad headers", "no Host", library, 400, half, func(int) string { return "GET / HTTP/1.1\r\n\r\n" })
	b.add("bad headers", "Host: a b", library, 400, half, func(int) string { return "GET / HTTP/1.1\r\nHost: a b\r\n\r\n" })
	b.add("bad headers", "Transfer-Encoding: gzip", library, 501, half, func(int) string { return get("Transfer-Encoding: gzip") })
	b.add("bad headers", "Transfer-Encoding twice", library, 501, half, func(int) string { return get("Transfer-Encoding: chunked, chunked") })
	b.add("bad headers", "Expect: nonsense", library, 417, half, func(int) string { return get("Expect: nonsense") })
	b.add("huge headers", "one of 100 KiB", library, 431, wait, func(int) string { return get("X-A: " + strings.Repeat("a", 100<<10)) })
	b.add("huge headers", "5000 of them", library, 431, wait, func(int) string { return get(strings.Repeat("X-A: bbbbbbbbbbbbbbb\r\n", 5000) + "X-B: c") })
	b.add("huge headers", "a target of 200 KiB", library, 431, wait, func(int) string { return head("GET", "/"+strings.Repeat("a", 200<<10), key) })
	b.add("huge headers", "one of 1 MiB that never ends", library, 431, wait, func(int) string { return "GET / HTTP/1.1\r\nX-A: " + strings.Repeat("a", 1<<20) })
	b.add("huge headers", "one of 60 KiB, which is allowed", ours, 404, wait, func(int) string { return head("GET", "/nothing", key, "X-A: "+strings.Repeat("a", 60<<10)) })
	b.add("huge headers", "a request ID of 60 KiB", ours, 404, wait, func(int) string {
		return head("GET", "/nothing", key, "X-Request-Id: "+strings.Repeat("a", 60<<10))
	})
}

// halves are requests whose sender goes away.
func (b *builder) halves() {
	key := "Authorization: Bearer " + b.l.client.Key
	whole := b.l.text("POST", b.box+"/exec", `{"command":"true"}`)
	part := func(i int) string { return whole[:1+i*7919%(len(whole)-1)] }
	b.add("half requests", "cut off", nobody, 0, cut, part)
	b.add("half requests", "reset", nobody, 0, reset, part)
	b.add("half requests", "an upload that is reset", nobody, 0, reset, func(i int) string {
		return head("PUT", b.box+"/files?path=never", key, "Content-Length: 1000000") + strings.Repeat("x", i%100_000)
	})
	b.add("half requests", "a command whose caller is gone", nobody, 0, reset, func(int) string {
		return b.l.text("POST", b.box+"/exec", `{"command":"sleep 100","timeout_seconds":300}`)
	})
	b.add("half requests", "nothing at all", nobody, 0, half, func(int) string { return "" })
	b.add("half requests", "half a head, and no more", someone, 0, half, func(i int) string {
		return whole[:1+i*7919%(strings.Index(whole, "\r\n\r\n")-1)]
	})
}

func (b *builder) mcp() {
	plain := "Content-Type: application/json"
	post := func(name, body string, status int, headers ...string) {
		b.add("at /mcp", name, rpc, status, wait, func(int) string { return b.l.text("POST", "/mcp", body, headers...) })
	}
	for _, body := range []string{"{", "[]", `"x"`, "", "\xff", strings.Repeat("[", 50_000)} {
		post(fmt.Sprintf("%.40q", body), body, 400, plain)
	}
	for _, body := range []string{`{}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":3}`, `{"jsonrpc":"2.0","id":1,"method":"nope"}`} {
		post(body, body, 400, plain)
	}
	post("no content type", "{}", 415)
	post("a session that never was", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 404, plain, "Mcp-Session-Id: never")
	for _, target := range []string{"/mcp", "/message"} {
		b.add("at /mcp", "PATCH "+target, rpc, 405, wait, func(int) string { return b.l.text("PATCH", target, "") })
	}
	b.add("at /mcp", "no session", rpc, 400, wait, func(int) string { return b.l.text("POST", "/message", "{}", plain) })
}

// mutants are requests with bytes of them changed. They may be well-formed by
// chance, and so may be answered by anyone; but typed, and not by a crash.
func (b *builder) mutants() {
	const perRound = 20
	// Some of them are commands: not in the sandbox in which nothing may change.
	box := "/v1/sandboxes/" + string(b.l.boxes[len(b.l.boxes)-1])
	bases := []string{
		b.l.text("POST", box+"/exec", `{"command":"true","env":{"A":"b"},"timeout_seconds":5}`, "Content-Type: application/json"),
		b.l.text("GET", "/v1/sandboxes?limit=5", "", "Range: bytes=0-5"),
		b.l.text("GET", box+"/files/list?path=/workspace", "", "X-Request-Id: abc"),
		b.l.text("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, "Content-Type: application/json", "MCP-Protocol-Version: 2026-07-28"),
	}
	for n := range perRound {
		b.add("random bytes", "a mutant", someone, 0, half, func(i int) string {
			r := rand.New(rand.NewPCG(uint64(i), 1)) // the same each time
			raw := []byte(bases[n%len(bases)])
			for range 1 + r.IntN(4) {
				raw[r.IntN(len(raw))] = byte(r.IntN(256))
			}
			return string(raw)
		})
	}
}

// slow sends some bodies that take longer than a body may, and some heads that
// do: the first are told, the second are hung up on.
func (l *load) slow(seen *counts) {
	const each = 4
	var done sync.WaitGroup
	for range each {
		done.Go(func() {
			l.drip(seen, oddity{family: "slow", name: "a body", by: ours, status: []int{400}},
				l.text("POST", "/v1/sandboxes", strings.Repeat(" ", 1000)), 500)
		})
		done.Go(func() {
			l.drip(seen, oddity{family: "slow", name: "a head", by: nobody}, head("GET", "/", "X-A: "+strings.Repeat("a", 200)), 50)
		})
	}
	done.Wait()
}

// drip sends a request, all but its end, and then a byte at a time.
func (l *load) drip(seen *counts, k oddity, raw string, ahead int) {
	c, err := l.dial()
	if err != nil {
		l.faults.add("%s: %v", k.name, err)
		return
	}
	defer c.Close()
	w := newWire(c)
	_ = w.SetDeadline(time.Now().Add(90 * time.Second))
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for i := ahead; i <= len(raw); i++ {
			part := raw[i-1 : i]
			if i == ahead {
				part = raw[:ahead]
			}
			if _, err := w.Write([]byte(part)); err != nil {
				return
			}
			select {
			case <-quit:
				return
			case <-time.After(time.Second):
			}
		}
	})
	began := time.Now()
	a := w.read("POST")
	close(quit)
	done.Wait()
	seen.add(k.family, a.by, a.status)
	if fault := a.fault(k); fault != "" {
		l.faults.add("slow %s, after %v: %s", k.name, time.Since(began).Round(time.Second), fault)
	}
}
