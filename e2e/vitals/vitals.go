// Package vitals reads what a running server holds: memory, goroutines and
// descriptors.
package vitals

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
)

// Vitals are what a server holds at one moment.
type Vitals struct {
	RSS                     int64 // resident memory, in bytes
	Goroutines, Descriptors int
}

// Cells are the vitals as cells of a table.
func (v Vitals) Cells() []string {
	return []string{MiB(v.RSS), fmt.Sprint(v.Goroutines), fmt.Sprint(v.Descriptors)}
}

// MiB is a number of bytes as text.
func MiB(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Read asks over one connection, and leaves the server a moment to close those
// that the client has closed. It works on Linux.
func Read(ctx context.Context, c *client.Client) (v Vitals, err error) {
	c.HTTP.CloseIdleConnections()
	time.Sleep(100 * time.Millisecond)
	if v.Goroutines, err = Metric(ctx, c, "go_goroutines"); err != nil {
		return v, err
	}
	if v.RSS, err = RSS(c.Pid()); err != nil {
		return v, err
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.Pid()))
	v.Descriptors = len(open)
	return v, err
}

// Metric is the value of a metric without labels.
func Metric(ctx context.Context, c *client.Client, name string) (int, error) {
	req, err := c.Request(ctx, "GET", "/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("/metrics: %s", resp.Status)
	}
	value, found := 0, false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			_, err = fmt.Sscan(rest, &value)
			found = true
		}
	}
	if !found {
		return 0, fmt.Errorf("/metrics has no %s", name)
	}
	return value, err
}

// RSS is a process's resident memory, in bytes.
func RSS(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the server's memory: %w", err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	var kb int64
	_, err = fmt.Sscan(rest, &kb)
	return kb << 10, err
}
