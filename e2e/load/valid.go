package main

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/vitals"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// commands runs many that do nothing, some at a time.
func (l *load) commands() error {
	times := make([]time.Duration, *execs)
	began := time.Now()
	err := l.measured(fmt.Sprint(*execs, " execs"), func() {
		each(*execs, *inFlight, func(i int) {
			began := time.Now()
			r, err := l.exec(l.boxes[i%len(l.boxes)], "true")
			times[i] = time.Since(began)
			if err != nil || r.ExitCode != 0 {
				l.faults.add("exec %d: exit code %d, %v", i, r.ExitCode, err)
			}
		})
	})
	rate := float64(*execs) / time.Since(began).Seconds()
	l.times.spread(fmt.Sprintf("exec true, %d in flight", *inFlight), times, fmt.Sprintf("%.0f a second", rate))
	return err
}

// each calls f for 0 to n-1, so many at a time.
func each(n, atATime int, f func(i int)) {
	work := make(chan int)
	var done sync.WaitGroup
	for range atATime {
		done.Go(func() {
			for i := range work {
				f(i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	done.Wait()
}

// stream has many streams open at a time, each with a line a second. What it
// times is how late a line comes after the one before it.
func (l *load) stream() error {
	seconds := 60
	if *short {
		seconds = 10
	}
	gaps := make([][]time.Duration, *streams)
	what := fmt.Sprintf("%d streams of %d s", *streams, seconds)
	err := l.measured(what, func() {
		each(*streams, *streams, func(i int) {
			var err error
			if gaps[i], err = l.oneStream(l.boxes[i%len(l.boxes)], seconds); err != nil {
				l.faults.add("stream %d: %v", i, err)
			}
		})
	})
	var all []time.Duration
	for _, g := range gaps {
		all = append(all, g...)
	}
	l.times.spread(what+": from line to line", all, fmt.Sprint(len(all)+*streams, " lines"))
	return err
}

func (l *load) oneStream(id schemas.SandboxID, seconds int) (gaps []time.Duration, err error) {
	command := fmt.Sprintf("for i in $(seq %d); do echo $i; sleep 1; done", seconds)
	var last time.Time
	r, err := l.client.Live(l.ctx, args{"sandbox_id": id, "command": command, "timeout_seconds": 3 * seconds}, func(text string) {
		if text == "" {
			return
		}
		if !last.IsZero() {
			gaps = append(gaps, time.Since(last))
		}
		last = time.Now()
	})
	var want strings.Builder
	for i := range seconds {
		fmt.Fprintln(&want, i+1)
	}
	if err == nil && (r.Stdout != want.String() || r.Stderr != "" || r.ExitCode != 0 || r.StdoutBytes != int64(want.Len())) {
		err = fmt.Errorf("ended with %+v", r)
	}
	return gaps, err
}

// unread has clients that ask for endless output and read none of it.
func (l *load) unread() error {
	conns, err := l.openUnread()
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // buffers fill
	full, err := l.rss()
	if err != nil {
		return err
	}
	what := fmt.Sprint(*readers, " clients that do not read")
	err = l.measured(what, func() {
		stop := l.watch()
		time.Sleep(8 * time.Second)
		if grown := stop() - full; grown > 4<<20 {
			l.faults.add("%s: memory grew by %s", what, vitals.MiB(grown))
		}
		if n, err := l.metric("mcp_sandbox_execs_in_flight"); err != nil || n != *readers {
			l.faults.add("%s: %d commands run (%v)", what, n, err)
		}
		if n := l.processes("yes"); n != *readers {
			l.faults.add("%s: %d processes", what, n)
		}
		began := time.Now()
		for _, c := range conns {
			c.Close()
		}
		left := l.processes("yes")
		for left > 0 && time.Since(began) < 20*time.Second {
			left = l.processes("yes")
		}
		if left > 0 {
			l.faults.add("%s: %d processes are left after they went away", what, left)
		}
		l.times.line(what+": until all processes are gone", fmt.Sprint(*readers), "", "", ms(time.Since(began)), "")
	})
	return err
}

func (l *load) openUnread() (conns []net.Conn, err error) {
	for i := range *readers {
		c, err := l.dial()
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
		target := "/v1/sandboxes/" + string(l.boxes[i%len(l.boxes)]) + "/exec/stream"
		if _, err := c.Write([]byte(l.text("POST", target, `{"command":"yes","timeout_seconds":600}`))); err != nil {
			return conns, fmt.Errorf("send a request: %w", err)
		}
	}
	return conns, nil
}

// processes counts those of a name, in all sandboxes.
func (l *load) processes(name string) (n int) {
	const count = `n=0; for p in /proc/[0-9]*; do read -r c < $p/comm && [ "$c" = %s ] && n=$((n+1)); done 2>/dev/null; echo $n`
	for _, id := range l.boxes {
		r, err := l.exec(id, fmt.Sprintf(count, name))
		var here int
		if _, serr := fmt.Sscan(r.Stdout, &here); err != nil || serr != nil {
			l.faults.add("count processes: %v %v", err, serr)
		}
		n += here
	}
	return n
}

func (l *load) dial() (*net.TCPConn, error) {
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(l.client.URL, "http://"), 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c.(*net.TCPConn), nil
}

// text is a request as it goes over the wire.
func (l *load) text(method, target, body string, headers ...string) string {
	return head(method, target, append(headers, "Authorization: Bearer "+l.client.Key, fmt.Sprint("Content-Length: ", len(body)))...) + body
}

func head(method, target string, headers ...string) string {
	lines := append([]string{method + " " + target + " HTTP/1.1", "Host: localhost"}, headers...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}
