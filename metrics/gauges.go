package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Watch adds what there is at a moment.
func (m *Metrics) Watch(stats func() manager.Stats) { m.registry.MustRegister(gauges{stats}) }

// gauges asks once for all of a scrape.
type gauges struct{ stats func() manager.Stats }

var (
	sandboxes     = prometheus.NewDesc("mcp_sandbox_sandboxes", "Sandboxes that live, by status.", []string{"status"}, nil)
	condemned     = prometheus.NewDesc("mcp_sandbox_sandboxes_condemned", "Sandboxes that were destroyed or have expired, and are not yet removed.", nil, nil)
	execs         = prometheus.NewDesc("mcp_sandbox_execs_in_flight", "Commands that run.", nil, nil)
	snapshots     = prometheus.NewDesc("mcp_sandbox_snapshots", "Snapshots that are kept.", nil, nil)
	spares        = prometheus.NewDesc("mcp_sandbox_pool_ready", "Spare sandboxes that wait for use.", nil, nil)
	snapshotBytes = prometheus.NewDesc("mcp_sandbox_snapshot_bytes", "Bytes of snapshots on disk.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{sandboxes, condemned, execs, snapshots, snapshotBytes, spares} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	s := g.stats()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for status, n := range s.Sandboxes {
		gauge(sandboxes, float64(n), string(status))
	}
	gauge(condemned, float64(s.Condemned))
	gauge(execs, float64(s.Execs))
	gauge(snapshots, float64(s.Snapshots))
	gauge(snapshotBytes, float64(s.SnapshotBytes))
	gauge(spares, float64(s.Spares))
}
