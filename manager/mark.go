package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// markName is the file that marks a data directory as the server's. It has an
// instance ID on each line, the latest last.
const markName = "mcp-sandbox.id"

const (
	markHeader = "# A data directory of mcp-sandbox. Below are the names of its server in Docker: leave them as they are.\n"
	maxMark    = 64 << 10
)

// settle finds the ID for a home, and makes one where there is none. The caller
// holds the directory.
func (d folder) settle(home string) (id string, err error) {
	d.makeWay(markName)
	ids, err := d.instances()
	if err != nil {
		return "", fmt.Errorf("read instance ID: %w", err)
	}
	if id := pick(ids, home); id != "" {
		return id, nil
	}
	known, err := d.recall(home)
	if err != nil {
		return "", err
	}
	if id = known; id == "" {
		id = newInstance(home)
	}
	d.explainNew(ids, known, id)
	err = storeError("write instance ID", d.mark(append(ids, id)))
	if isKind(err, KindNoSpace) && known != "" {
		d.log.Error("write instance ID; the next start tries again", "error", err)
		err = nil // whoever comes next recalls the same
	}
	return id, err
}

func (d folder) explainNew(ids []string, known, id string) {
	switch {
	case known != "":
		d.log.Warn("found the instance ID in the records, and not in the file that should have it", "file", markName, "instance", id)
	case len(ids) > 0:
		d.log.Warn("data directory was moved or copied, or the host renamed: what its sandboxes are in Docker is left alone, and they show as failed until it is moved back; snapshots can be used",
			"directory", d.dir, "instance", id, "before", ids[len(ids)-1])
	case d.has(markName):
		d.log.Error("the file of the instance ID is damaged; what earlier sandboxes are in Docker is left alone", "file", markName, "instance", id)
	default:
		d.log.Info("new data directory", "directory", d.dir, "instance", id)
	}
}

func (d folder) mark(ids []string) error {
	return writeDurably(filepath.Join(d.dir, markName), []byte(markHeader+strings.Join(ids, "\n")+"\n"))
}

// instances reads the mark. What is no ID in it does not count.
func (d folder) instances() (ids []string, err error) {
	data, err := readRegular(filepath.Join(d.dir, markName), maxMark)
	if unreadable(err) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); isInstance(line) && !slices.Contains(ids, line) {
			ids = append(ids, line)
		}
	}
	return ids, nil
}

// recall finds the ID for a home in the records, of which each has the one it
// was written under: the mark may be lost, or have been damaged. Releases before
// the mark wrote none, and derived theirs.
func (d folder) recall(home string) (string, error) {
	names, err := filepath.Glob(filepath.Join(d.dir, "sandboxes", "sb_*.json"))
	if err != nil {
		return "", fmt.Errorf("list records: %w", err)
	}
	var ids []string
	for _, name := range names {
		var r struct {
			ID       string `json:"id"`
			Instance string `json:"instance"`
		}
		data, err := readRegular(name, maxRecord)
		if unreadable(err) {
			return "", fmt.Errorf("read record: %w", err)
		}
		if err != nil || json.Unmarshal(data, &r) != nil || r.ID+".json" != filepath.Base(name) {
			continue
		}
		if r.Instance == "" {
			r.Instance = derived(home)
		}
		ids = append(ids, r.Instance)
	}
	return pick(ids, home), nil
}
