package backendtest

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// programs are the commands that fake processes know, each with just those of
// busybox's options that tests use. They are what /bin holds.
var programs map[string]func(p *proc, args []string) int

func init() { // in init, for the shell among them refers to the table
	programs = map[string]func(p *proc, args []string) int{
		"true":   func(*proc, []string) int { return 0 },
		"false":  func(*proc, []string) int { return 1 },
		"echo":   echo,
		"printf": printf,
		"pwd":    func(p *proc, _ []string) int { return p.print(p.dir + "\n") },
		"env":    func(p *proc, _ []string) int { return p.print(strings.Join(append(p.env, ""), "\n")) },
		"cat":    cat,
		"head":   head,
		"yes":    yes,
		"wc":     wc,
		"sleep":  sleepFor,
		"ls":     ls,
		"touch":  touch,
		"mkdir":  mkdir,
		"rm":     rm,
		"ln":     ln,
		"mkfifo": mkfifo,
		"chmod":  chmod,
		"test":   test,
		"setsid": func(p *proc, args []string) int { return p.exec(args) }, // no groups here to leave
	}
}

func (p *proc) print(s string) int {
	if _, err := io.WriteString(p.stdout, s); err != nil {
		return 1
	}
	return 0
}

func echo(p *proc, args []string) int { return p.print(strings.Join(args, " ") + "\n") }

// printf understands escapes, %s and %%.
func printf(p *proc, args []string) int {
	if len(args) == 0 {
		return p.fail(1, "printf: missing operand")
	}
	text, rest := unescape(args[0]), args[1:]
	for range strings.Count(text, "%s") {
		next := ""
		if len(rest) > 0 {
			next, rest = rest[0], rest[1:]
		}
		text = strings.Replace(text, "%s", next, 1)
	}
	return p.print(strings.ReplaceAll(text, "%%", "%"))
}

// unescape understands \n, \t, \r, \\ and up to three octal digits.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := 0
		for digits < 3 && i+digits < len(s) && s[i+digits] >= '0' && s[i+digits] <= '7' {
			digits++
		}
		if digits > 0 {
			n, _ := strconv.ParseUint(s[i:i+digits], 8, 16)
			b.WriteByte(byte(n))
			i += digits - 1
			continue
		}
		if at := strings.IndexByte("ntr\\", s[i]); at >= 0 {
			b.WriteByte("\n\t\r\\"[at])
		} else {
			b.WriteString(s[i-1 : i+1])
		}
	}
	return b.String()
}

// cat copies files, or standard input; /dev/zero never ends.
func cat(p *proc, args []string) int {
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		in, err := p.open(name)
		if err != nil {
			return p.failed(err)
		}
		if _, err := io.Copy(p.stdout, in); err != nil {
			return 1
		}
	}
	return 0
}

func (p *proc) open(name string) (io.Reader, error) {
	switch name {
	case "-":
		return onlyReader{p.stdin}, nil
	case "/dev/null":
		return eof{}, nil
	case "/dev/zero":
		return zeros{}, nil
	}
	data, err := p.read(name)
	return onlyReader{strings.NewReader(string(data))}, err
}

// onlyReader hides WriteTo, so that big content is written in pieces.
type onlyReader struct{ io.Reader }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// head understands -c N only.
func head(p *proc, args []string) int {
	if len(args) < 2 || args[0] != "-c" {
		return p.fail(1, "head: only -c N is known")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return p.fail(1, "head: %s: invalid number", args[1])
	}
	in, err := p.open(append(args, "-")[2])
	if err != nil {
		return p.failed(err)
	}
	if _, err := io.Copy(p.stdout, io.LimitReader(in, n)); err != nil {
		return 1
	}
	return 0
}

// yes writes in big pieces, as the real one does.
func yes(p *proc, args []string) int {
	line := strings.Join(args, " ")
	if len(args) == 0 {
		line = "y"
	}
	chunk := []byte(strings.Repeat(line+"\n", 4096))
	for {
		if _, err := p.stdout.Write(chunk); err != nil {
			return 1
		}
	}
}

// wc understands -c of standard input only.
func wc(p *proc, args []string) int {
	n, err := io.Copy(io.Discard, p.stdin)
	if err != nil || len(args) != 1 || args[0] != "-c" {
		return 1
	}
	return p.print(fmt.Sprintf("%d\n", n))
}

func sleepFor(p *proc, args []string) int {
	seconds, err := strconv.ParseFloat(strings.Join(args, ""), 64)
	if err != nil {
		return p.fail(1, "sleep: invalid time")
	}
	t := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer t.Stop()
	select {
	case <-t.C:
		return 0
	case <-p.run.traps.interrupted():
		return 130
	case <-p.run.live.Done():
		return 137
	}
}
