package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestEncoding: bytes stay bytes, and text stays text.
func TestEncoding(t *testing.T) {
	t.Parallel()
	s := start(t)
	runCases(t, s.create(), encodingCases)
}

// encodingCases hold at every door.
var encodingCases = []testCase[*sandbox]{
	{"D1 characters in pieces", charactersInPieces},
	{"D2 binary files", binaryFiles},
	{"D3 bytes that are not UTF-8", notUTF8},
	{"D4 NUL bytes", nulBytes},
	{"D6 text is known as text", textIsText},
	{"D7 truncation keeps characters", truncationKeepsCharacters},
	{"D9 overwriting leaves no tail", noOldTail},
}

func charactersInPieces(b *sandbox) {
	var shown strings.Builder
	a := args{"sandbox_id": b.ID, "command": `for b in 360 237 230 200; do printf "\\$b"; sleep 0.03; done; sleep 0.5; printf '\303'; sleep 0.4; printf '\251'`}
	r, err := b.Live(ctx(b.t), a, func(text string) { shown.WriteString(text) })
	if err != nil || r.Stdout != "😀é" {
		b.t.Errorf("got %q, %v", r.Stdout, err)
	}
	if strings.ContainsRune(shown.String(), utf8.RuneError) {
		b.t.Errorf("what is shown has half a character: %q", shown.String())
	}
	out := b.must(`i=0; while [ $i -lt 100 ]; do i=$((i+1)); printf '☃%.0s' $(seq 50); done`, args{"max_output_bytes": 100_000})
	if out != strings.Repeat("☃", 5000) {
		b.t.Errorf("5000 snowmen: got %d bytes, %d characters", len(out), utf8.RuneCountInString(out))
	}
}

func binaryFiles(b *sandbox) {
	content := make([]byte, 12_000)
	rand.Read(content)
	for i := range 256 {
		content[i] = byte(i)
	}
	text := base64.StdEncoding.EncodeToString(content)
	call[any](b.server, "write_file", args{"sandbox_id": b.ID, "path": "bin", "content_base64": text})
	if out := b.must("cat bin", args{"encoding": "base64"}); out != text {
		b.t.Errorf("exec sees other bytes than were written (%d characters, want %d)", len(out), len(text))
	}
	r := b.read("bin")
	got, err := base64.StdEncoding.DecodeString(r.Content)
	if err != nil || r.Encoding != schemas.EncodingBase64 || !bytes.Equal(got, content) {
		b.t.Errorf("read_file: got %d bytes, encoding %q, truncated %t, %v", len(got), r.Encoding, r.Truncated, err)
	}
}

// notUTF8: whatever a command prints, the connection goes on.
func notUTF8(b *sandbox) {
	for command, want := range map[string]string{
		`printf '\377\376\200'`:             "\uFFFD\uFFFD\uFFFD",
		`printf 'ok\260\241'`:               "ok\uFFFD\uFFFD",
		`printf '\355\240\200'`:             "\uFFFD\uFFFD\uFFFD",
		`printf '\033[31m\000'`:             "\x1b[31m\x00",
		`printf '\342\230'`:                 "\uFFFD",
		`printf '\342\200\250\357\273\277'`: "\u2028\uFEFF",
	} {
		r := b.sh(command)
		if !utf8.ValidString(r.Stdout) || strings.ReplaceAll(r.Stdout, "\uFFFD", "") != strings.ReplaceAll(want, "\uFFFD", "") ||
			strings.Contains(want, "\uFFFD") != strings.Contains(r.Stdout, "\uFFFD") {
			b.t.Errorf("%s: got %q, want %q", command, r.Stdout, want)
		}
		b.alive()
	}
}

func nulBytes(b *sandbox) {
	if out := b.must(`printf 'a\000b'`); out != "a\x00b" {
		b.t.Errorf("got %q", out)
	}
}

func textIsText(b *sandbox) {
	for _, at := range []int{512, 1000, 1024, 4096, 8192, 16384} {
		for shift := 1; shift <= 2; shift++ {
			content := strings.Repeat("x", at-shift) + "☃ and the rest\n"
			b.readsBack(content)
		}
	}
	b.readsBack("\uFEFFwith a byte order mark\n")
	b.readsBack("")
	b.readsBack("no newline at the end")
}

func (b *sandbox) readsBack(content string) {
	b.t.Helper()
	b.write("text.txt", content)
	r := b.read("text.txt")
	if r.Content != content || r.Encoding != schemas.EncodingUTF8 {
		b.t.Errorf("%.30q… of %d bytes: got %.30q… of %d, encoding %s", content, len(content), r.Content, len(r.Content), r.Encoding)
	}
}

func truncationKeepsCharacters(b *sandbox) {
	for limit := 100; limit < 108; limit++ {
		r := b.sh("i=0; while [ $i -lt 40 ]; do i=$((i+1)); printf 😀; done", args{"max_output_bytes": limit})
		if !utf8.ValidString(r.Stdout) || strings.ContainsRune(r.Stdout, utf8.RuneError) || !r.StdoutTruncated {
			b.t.Errorf("cap %d: truncated %t, %q", limit, r.StdoutTruncated, r.Stdout)
		}
		if kept := strings.Count(r.Stdout, "😀") * 4; kept > limit {
			b.t.Errorf("cap %d: %d bytes were kept", limit, kept)
		}
	}
}

func noOldTail(b *sandbox) {
	for _, size := range []int{1 << 20, 10, 0} {
		b.write("shrinking", strings.Repeat("z", size))
		if out := strings.TrimSpace(b.must("wc -c < shrinking")); out != itoa(size) {
			b.t.Errorf("wrote %d bytes, the file has %s", size, out)
		}
	}
}
