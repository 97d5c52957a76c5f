// Package metrics counts what a [manager.Manager] does, for Prometheus. It is
// an [manager.Observer] for what happens, and asks the manager for what is at
// the moment of each scrape. No label holds anything that a caller chose.
//
// # Adding a metric
//
//   - What happens: a call of the observer in the manager, a field here.
//   - What is: a field of [manager.Stats], a line in gauges.go.
//   - Its name in docs/http.md.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// Metrics counts for one manager.
type Metrics struct {
	registry   *prometheus.Registry
	operations *prometheus.HistogramVec
	events     map[manager.Event]prometheus.Counter
}

// buckets reach from a file read to a command at its longest.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600}

// New is to be given to the manager as its observer.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		operations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mcp_sandbox_operation_duration_seconds", Buckets: buckets,
			Help: "How long operations took, by name and outcome: ok, cancelled or the code of the error.",
		}, []string{"operation", "outcome"}),
		events: map[manager.Event]prometheus.Counter{},
	}
	m.registry.MustRegister(m.operations, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.count(manager.EventReaped, "mcp_sandbox_reaped_total", "Sandboxes that have expired and were destroyed.")
	m.count(manager.EventRemovalFailed, "mcp_sandbox_removals_failed_total", "Removals of destroyed or expired sandboxes that failed and are tried again.")
	m.count(manager.EventReconciled, "mcp_sandbox_reconciled_total", "Times that records were compared with the backend.")
	m.count(manager.EventReconnected, "mcp_sandbox_guest_reconnects_total", "Times that a sandbox was connected to again.")
	m.count(manager.EventPoolClaimed, "mcp_sandbox_pool_claimed_total", "Sandboxes, and new containers of them, that came out of the pool.")
	m.count(manager.EventPoolMissed, "mcp_sandbox_pool_missed_total", "Those that had to be made, for want of a spare that fits.")
	return m
}

func (m *Metrics) count(e manager.Event, name, help string) {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	m.events[e] = c
}

// Operation implements [manager.Observer].
func (m *Metrics) Operation(name, outcome string, took time.Duration) {
	m.operations.WithLabelValues(name, outcome).Observe(took.Seconds())
}

// Event implements [manager.Observer].
func (m *Metrics) Event(e manager.Event) {
	if c := m.events[e]; c != nil {
		c.Inc()
	}
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
