package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// measured is a sandbox as it is seen from outside and from inside.
type measured struct {
	sandbox schemas.Sandbox
	inspect map[string]any
	probe   map[string]string
}

// hold compares it with properties, each a subtest.
func (m measured) hold(t *testing.T, all []property) {
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			for _, f := range p.inspect {
				if got, want := inspectedField(m.inspect, f.what), m.filled(f.want); got != want {
					t.Errorf("docker inspect: %s is %s, want %s", f.what, got, want)
				}
			}
			for _, f := range p.probe {
				if got, want := m.probe[f.what], m.filled(f.want); got != want {
					t.Errorf("inside: %s: %q, want %q (%s)", f.what, got, want, m.probe[f.what+", because"])
				}
			}
		})
	}
}

// filled puts into a fact what the sandbox was made with.
func (m measured) filled(want string) string {
	b, memory := m.sandbox, m.sandbox.MemoryMB<<20
	const guestThreads = 20 // what the guest gets of its own of the process limit
	tmp := min(16, b.MemoryMB/2)
	return strings.NewReplacer(
		"<memory>", fmt.Sprint(memory),
		"<tmp MiB>", fmt.Sprint(tmp), "<tmp>", fmt.Sprint(tmp<<20),
		"<shm>", fmt.Sprint(min(16<<20, memory/8)),
		"<nano CPUs>", fmt.Sprint(int64(b.CPUs*1e9)),
		"<processes and the guest's threads>", fmt.Sprint(b.PidsLimit+guestThreads),
		"<processes>", fmt.Sprint(b.PidsLimit),
	).Replace(want)
}

// inspectedField is a field of "docker inspect" as text: nothing at all is "none".
// A few names are for what a path cannot say.
func inspectedField(c map[string]any, name string) string {
	switch name {
	case "Mounts":
		return mountList(c)
	case "Config.Env, values":
		return valuesOf(field(c, "Config.Env"))
	case "HostConfig.Tmpfs of the image's volumes":
		return tmpfsOfVolumes(field(c, "HostConfig.Tmpfs"))
	case "HostConfig.MaskedPaths":
		return holds(field(c, name), "/proc/kcore", "/proc/keys", "/sys/firmware")
	case "HostConfig.ReadonlyPaths":
		return holds(field(c, name), "/proc/sys")
	}
	if text, ok := field(c, name).(string); ok {
		return none(text)
	}
	text, err := json.Marshal(field(c, name))
	if err != nil {
		return err.Error()
	}
	return none(string(text))
}

// field follows a path of names.
func field(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func mountList(c map[string]any) string {
	var all []string
	mounts, _ := c["Mounts"].([]any)
	for _, m := range mounts {
		mode := "ro"
		if field(m, "RW") == true {
			mode = "rw"
		}
		if kind := field(m, "Type"); kind != "tmpfs" { // which newer daemons list as well
			all = append(all, fmt.Sprint(kind, " ", field(m, "Destination"), " ", mode))
		}
	}
	return none(strings.Join(all, ", "))
}

// valuesOf are the entries that have one: a name alone takes a variable away.
func valuesOf(env any) string {
	var all []string
	entries, _ := env.([]any)
	for _, e := range entries {
		if text := fmt.Sprint(e); strings.Contains(text, "=") {
			all = append(all, text)
		}
	}
	return none(strings.Join(all, " "))
}

func tmpfsOfVolumes(tmpfs any) string {
	mounts, _ := tmpfs.(map[string]any)
	for at, options := range mounts {
		if at != "/tmp" && !strings.HasPrefix(fmt.Sprint(options), "ro,") {
			return fmt.Sprint(at, " ", options)
		}
	}
	return "read-only"
}

func holds(list any, wanted ...string) string {
	paths, _ := json.Marshal(list)
	for _, path := range wanted {
		if !strings.Contains(string(paths), `"`+path+`"`) {
			return "without " + path
		}
	}
	head, last := strings.Join(wanted[:len(wanted)-1], ", "), wanted[len(wanted)-1]
	if head == "" {
		return "with " + last
	}
	return "with " + head + " and " + last
}
