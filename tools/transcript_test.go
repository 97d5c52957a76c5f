package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What goes over the wire, per protocol version, is frozen: testdata/wire holds
// files of ">" lines, which are sent, each followed by the "<" lines that came.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "wire/"+filepath.Base(file), converse(t, script))
		})
	}
}

// converse plays the lines to send and returns the whole conversation. A line is
// sent when the one before has been answered, so that the order is certain.
func converse(t *testing.T, script []byte) []byte {
	b := newBench(t)
	w := dial(t, b.srv, quiet())
	var got bytes.Buffer
	var names placeholders
	seen := 0
	for lines := bufio.NewScanner(bytes.NewReader(script)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "#") || line == "" {
			fmt.Fprintln(&got, line)
			continue
		}
		request, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue // the answers of last time
		}
		fmt.Fprintln(&got, line)
		var m message
		if err := json.Unmarshal([]byte(request), &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		w.send("%s", names.fill(request))
		if m.ID != nil {
			w.wait(m.ID, soon)
		}
		for _, raw := range w.raw()[seen:] {
			seen++
			fmt.Fprintln(&got, "<", names.hide(raw))
		}
	}
	return got.Bytes()
}

// placeholders stand for what differs from run to run.
type placeholders struct{ ids []string }

var (
	ids   = regexp.MustCompile(`(sb|snap)_[0-9a-f]{16}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	prose = regexp.MustCompile(`"instructions":"([^"\\]|\\.)*"`) // has a file of its own
	spans = regexp.MustCompile(`(in |after |"duration_ms":|"(?:size|stored)_bytes":|\d files?, )\d+`)
	sums  = regexp.MustCompile(`"sha256":"[0-9a-f]+"`)
)

func (p *placeholders) hide(s string) string {
	s = ids.ReplaceAllStringFunc(s, func(id string) string {
		for i, known := range p.ids {
			if id == known {
				return fmt.Sprintf("ID%d", i+1)
			}
		}
		p.ids = append(p.ids, id)
		return fmt.Sprintf("ID%d", len(p.ids))
	})
	s = prose.ReplaceAllString(s, `"instructions":"…"`)
	s = times.ReplaceAllString(s, "TIME")
	s = sums.ReplaceAllString(s, `"sha256":"…"`)
	return spans.ReplaceAllString(s, "${1}N")
}

func (p *placeholders) fill(s string) string {
	for i := len(p.ids); i > 0; i-- {
		s = strings.ReplaceAll(s, fmt.Sprintf("ID%d", i), p.ids[i-1])
	}
	return s
}
