package tools

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// facts are what descriptions and instructions say of the server's settings.
// These texts are templates over it, so that none says what an operator has
// changed; a server renders them once. Texts that depend on no setting are plain.
type facts struct {
	manager.Config
}

func (f facts) StreamBytes() int64    { return min(defaultStreamBytes, f.MaxExecOutputBytes) }
func (f facts) MaxStreamBytes() int64 { return min(maxStreamBytes, f.MaxExecOutputBytes) }

// MostTimeout is the longest timeout_seconds of an exec, which may go on by itself.
func (f facts) MostTimeout() float64 {
	return max(f.MaxExecTimeoutSeconds, float64(f.MaxTimeoutSeconds))
}

func (f facts) AnyImage() bool {
	for _, glob := range f.AllowedImages {
		if strings.TrimSpace(glob) == "*" {
			return true
		}
	}
	return false
}

// Images are the globs of the images that may be used, as many as fit.
func (f facts) Images() string {
	const most = 300
	var b strings.Builder
	for i, glob := range f.AllowedImages {
		if b.Len()+len(glob) > most {
			return b.String() + ", …"
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(glob)
	}
	return b.String()
}

const mostOutput = "Default {{.StreamBytes}}{{if lt .MaxStreamBytes .MostStreamBytes}}; more than {{.MaxStreamBytes}} is never returned by this server{{end}}."

// argumentTexts end the descriptions of arguments whose range is the server's, in
// place of the "Default …" of their type.
var argumentTexts = map[string]string{
	"sandbox_create.image":                "Leave it out for {{if .DefaultImage}}{{.DefaultImage}}{{else}}the server's default image{{end}}.",
	"sandbox_create.cpus":                 "Default {{.DefaultCPUs}}, at most {{.MaxCPUs}}.",
	"sandbox_create.memory_mb":            "Default {{.DefaultMemoryMB}}, at most {{.MaxMemoryMB}}.",
	"sandbox_create.pids_limit":           "Default {{.DefaultPidsLimit}}, at most {{.MaxPidsLimit}}.",
	"sandbox_create.network":              "Default false{{if not .AllowNetwork}}; true is refused by this server{{end}}.",
	"sandbox_create.timeout_seconds":      "Default {{.DefaultTimeoutSeconds}}, at most {{.MaxTimeoutSeconds}}.",
	"sandbox_set_timeout.timeout_seconds": "At most {{.MaxTimeoutSeconds}}.",
	"fork.cpus":                           "Default: as the source; at most {{.MaxCPUs}}.",
	"fork.memory_mb":                      "Default: as the source; at most {{.MaxMemoryMB}}.",
	"fork.pids_limit":                     "Default: as the source; at most {{.MaxPidsLimit}}.",
	"fork.network":                        "Default: as the source{{if not .AllowNetwork}}; true is refused by this server{{end}}.",
	"fork.timeout_seconds":                "Default {{.DefaultTimeoutSeconds}}, at most {{.MaxTimeoutSeconds}}.",
	"exec.timeout_seconds":                "Default: none; at most {{.MostTimeout}}.",
	"exec.max_output_bytes":               mostOutput,
	"exec_poll.max_output_bytes":          mostOutput,
	"exec_input.max_output_bytes":         mostOutput,
}

func (facts) MostStreamBytes() int64 { return maxStreamBytes }

// describe is the description of an argument of tool, given that of its type.
func (f facts) describe(tool, argument, text string) string {
	end, ok := argumentTexts[tool+"."+argument]
	if !ok {
		return text
	}
	for _, word := range []string{" Default", " Leave it out"} {
		if i := strings.LastIndex(text, word); i >= 0 {
			text = text[:i]
		}
	}
	return text + " " + f.render(end)
}

var factWords = template.FuncMap{
	// time is a number of seconds in the largest unit that it is whole in.
	"time": func(seconds any) string {
		var s float64
		switch n := seconds.(type) {
		case int64:
			s = float64(n)
		case float64:
			s = n
		}
		for _, unit := range []struct {
			name string
			size float64
		}{{"day", 86400}, {"hour", 3600}, {"minute", 60}} {
			if n := s / unit.size; n >= 1 && n == float64(int64(n)) {
				return count(int64(n), unit.name)
			}
		}
		if s == 1 {
			return "1 second"
		}
		return fmt.Sprintf("%v seconds", seconds)
	},
	// size is a number of bytes.
	"size": func(n int64) string {
		for _, unit := range []struct {
			name  string
			shift uint
		}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
			if n>>unit.shift > 0 && n%(1<<unit.shift) == 0 {
				return fmt.Sprintf("%d %s", n>>unit.shift, unit.name)
			}
		}
		return bytesOf(n)
	},
	"cpus": func(n float64) string {
		if n == 1 {
			return "1 CPU"
		}
		return fmt.Sprintf("%g CPUs", n)
	},
}

// render fills in a text. Texts are ours, so one that is no template is a bug.
func (f facts) render(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	var b strings.Builder
	if err := template.Must(template.New("").Funcs(factWords).Parse(text)).Execute(&b, f); err != nil {
		panic(err)
	}
	return b.String()
}
