package dockerbackend

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend/faultproxy"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

func ofInstance(instance string) filters.KeyValuePair {
	return filters.Arg("label", labelInstance+"="+instance)
}

// healTime is how soon all must be well once Docker is.
const healTime = 45 * time.Second

// wantWhole checks, once Docker is well again, that what was acknowledged is
// there and works, and that there is nothing else.
func (w *world) wantWhole(after string) {
	w.Helper()
	deadline := time.Now().Add(healTime)
	for {
		amiss := w.amiss()
		if len(amiss) == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("after %s, %v after Docker is well again: %s", after, healTime, strings.Join(amiss, "; "))
		}
		time.Sleep(100 * time.Millisecond) // between two looks
	}
}

// amiss is everything that is not as it should be.
func (w *world) amiss() (amiss []string) {
	list, err := w.List(w.ctx, alice, schemas.Page{})
	if err != nil {
		return []string{fmt.Sprintf("list: %v", err)}
	}
	var listed []string
	for _, b := range list.Sandboxes {
		listed = append(listed, string(b.ID))
		amiss = append(amiss, w.amissWith(b)...)
	}
	for id := range w.boxes {
		if !slices.Contains(listed, string(id)) {
			amiss = append(amiss, fmt.Sprintf("%s is not listed", id))
		}
	}
	if networks := w.networks(); len(networks) > 0 && !w.anyOnNetwork() {
		amiss = append(amiss, fmt.Sprintf("nobody is on %q", networks))
	}
	amiss = append(amiss, w.amissInDocker(listed)...)
	return append(amiss, w.amissOnDisk(listed)...)
}

func (w *world) amissWith(b schemas.Sandbox) (amiss []string) {
	want := w.boxes[b.ID]
	if want == nil {
		return []string{fmt.Sprintf("%s is listed, and nobody was told of it", b.ID)}
	}
	if !b.ExpiresAt.Equal(want.ExpiresAt) {
		amiss = append(amiss, fmt.Sprintf("%s expires at %v, want %v", b.ID, b.ExpiresAt, want.ExpiresAt))
	}
	if got, err := w.read(w.ctx, b.ID); err != nil || !slices.Contains(want.file, got) {
		amiss = append(amiss, fmt.Sprintf("%s has %.40q, want one of %.40q: %v", b.ID, got, want.file, err))
	}
	if want.runs.begun > 0 {
		amiss = append(amiss, w.amissWithRuns(want)...)
	}
	return amiss
}

func (w *world) networks() (names []string) {
	all, err := w.docker.NetworkList(w.ctx, network.ListOptions{Filters: filters.NewArgs(ofInstance(w.instance))})
	if err != nil {
		w.Errorf("list networks: %v", err)
	}
	for _, n := range all {
		names = append(names, n.Name)
	}
	return names
}

func (w *world) anyOnNetwork() bool {
	for _, b := range w.boxes {
		if b.Network {
			return true
		}
	}
	return false
}

// amissWithRuns: no command is run twice, and none that was acknowledged not at all.
func (w *world) amissWithRuns(b *acknowledged) (amiss []string) {
	result, _, err := w.Exec(w.ctx, alice, b.ID, schemas.ExecRequest{Command: schemas.Command{Shell: "wc -l < runs || echo 0"}})
	var n int
	if _, scanErr := fmt.Sscan(result.Stdout, &n); err != nil || scanErr != nil || n < b.runs.done || n > b.runs.begun {
		amiss = append(amiss, fmt.Sprintf("%d commands were begun and %d acknowledged, and %s were run: %v", b.runs.begun, b.runs.done, result.Stdout, err))
	}
	return amiss
}

// amissInDocker: each sandbox has a container and a volume, the pool is full, and
// there is nothing else.
func (w *world) amissInDocker(sandboxes []string) (amiss []string) {
	var containers, volumes []string
	for _, id := range sandboxes {
		ref, err := w.ref(schemas.SandboxID(id))
		if err != nil {
			amiss = append(amiss, err.Error())
		}
		containers, volumes = append(containers, ref.Container), append(volumes, ref.Volume)
	}
	amiss = append(amiss, w.amissAmong("container", w.containers(), containers)...)
	return append(amiss, w.amissAmong("volume", w.volumes(), volumes)...)
}

func (w *world) amissAmong(kind string, got, want []string) (amiss []string) {
	spares := 0
	for _, name := range got {
		if slices.Contains(want, name) {
			continue
		}
		if spares++; !strings.HasPrefix(name, sparePrefix) {
			amiss = append(amiss, fmt.Sprintf("%s %s belongs to no sandbox", kind, name))
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			amiss = append(amiss, fmt.Sprintf("%s %s is not there", kind, name))
		}
	}
	if spares != w.cfg.WarmPool {
		amiss = append(amiss, fmt.Sprintf("%d spare %ss, want %d", spares, kind, w.cfg.WarmPool))
	}
	return amiss
}

// amissOnDisk: a record for each sandbox, tar and record for each snapshot.
func (w *world) amissOnDisk(sandboxes []string) (amiss []string) {
	var want []string
	for _, id := range sandboxes {
		want = append(want, "sandboxes/"+id+".json")
	}
	list, err := w.ListSnapshots(w.ctx, alice, "", schemas.Page{})
	if err != nil || len(list.Snapshots) != len(w.snaps) {
		amiss = append(amiss, fmt.Sprintf("%d snapshots, want %d: %v", len(list.Snapshots), len(w.snaps), err))
	}
	for _, snap := range list.Snapshots {
		want = append(want, "snapshots/"+string(snap.ID)+".json", "snapshots/"+string(snap.ID)+".tar.zst")
		if err := w.export(snap.ID); err != nil || !w.snaps[snap.ID] {
			amiss = append(amiss, fmt.Sprintf("snapshot %s, acknowledged %t: %v", snap.ID, w.snaps[snap.ID], err))
		}
	}
	var got []string
	for _, dir := range []string{"sandboxes", "snapshots"} {
		entries, _ := os.ReadDir(filepath.Join(w.cfg.DataDir, dir))
		for _, e := range entries {
			got = append(got, dir+"/"+e.Name())
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		amiss = append(amiss, fmt.Sprintf("files are %q, want %q", got, want))
	}
	return amiss
}

// wantTyped checks an error that is Docker's fault as a client sees it.
func (w *world) wantTyped(doing string, err error) {
	w.Helper()
	if err == nil {
		return
	}
	seen := manager.Public(err)
	if seen.Code != schemas.CodeBackendUnavailable && seen.Code != schemas.CodeBackendError {
		w.Errorf("%s: Docker's fault is told as %s: %v", doing, seen.Code, err)
	}
	if text := seen.Message + seen.Hint; strings.Contains(text, faultproxy.Text) || strings.Contains(text, "/") && !strings.Contains(text, "/workspace") {
		w.Errorf("%s: the client is told %q", doing, text)
	}
}
