package httpapi

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// What is written by hand is what encoding/json would write.
func FuzzAppendText(f *testing.F) {
	var all strings.Builder
	for r := rune(0); r < 0x300; r++ {
		all.WriteRune(r)
	}
	for _, text := range []string{
		"", "plain", all.String(), "a\nb\tc\"d\\e\x00\x1f\x7f", "<&>", "\u2027\u2028\u2029\u202a", "1234567\u2028", "12345678\n", "€uro 語 🙂",
		strings.Repeat("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n", 9),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\ufffd")
		event := schemas.OutputEvent{Type: schemas.Stdout, Data: text}
		var want bytes.Buffer
		if err := encodeTo(&want, event); err != nil {
			t.Fatal(err)
		}
		if got := appendOutput(nil, event.Type, []byte(text), schemas.EncodingUTF8); string(got) != want.String() {
			t.Errorf("got %q, want %q", got, want.String())
		}
	})
}

// So is a result.
func TestEncodeResult(t *testing.T) {
	signal := "SIGKILL"
	for _, r := range []schemas.ExecResult{
		{}, {Stdout: "a\n\t\u2028<é>", Stderr: `"\`, Signal: &signal, ExitCode: 137, Truncated: true, StdoutBytes: 12, Encoding: schemas.EncodingUTF8},
		{Stdout: strings.Repeat("\x01", 10_000), Stderr: `{"stdout":"","stderr":""`},
	} {
		want, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := encodeResult(r); err != nil || string(got) != string(want) {
			t.Errorf("got %.100q, %v, want %.100q", got, err, want)
		}
	}
}

// So are bytes.
func TestAppendBytes(t *testing.T) {
	for _, data := range []string{"", "a", "ab", "abc", "\x00\xff\xfe", strings.Repeat("\xfb\xef", 10_000)} {
		event := schemas.OutputEvent{Type: schemas.Stderr, Data: base64.StdEncoding.EncodeToString([]byte(data)), Encoding: schemas.EncodingBase64}
		var want bytes.Buffer
		if err := encodeTo(&want, event); err != nil {
			t.Fatal(err)
		}
		if got := appendOutput(nil, event.Type, []byte(data), schemas.EncodingBase64); string(got) != want.String() {
			t.Errorf("got %.50q, want %.50q", got, want.String())
		}
	}
}

func BenchmarkAppendText(b *testing.B) {
	text := strings.Repeat("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n", 1000)
	event := schemas.OutputEvent{Type: schemas.Stdout, Data: text}
	for name, do := range map[string]func(){
		"json": func() { var b bytes.Buffer; encodeTo(&b, event) },
		"ours": func() func() {
			var b []byte
			return func() { b = appendOutput(b[:0], event.Type, []byte(text), schemas.EncodingUTF8) }
		}(),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				do()
			}
		})
	}
}
