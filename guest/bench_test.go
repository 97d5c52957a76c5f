//go:build linux

package guest

import (
	"io"
	"slices"
	"testing"
	"time"
)

// BenchmarkExecTrue is the whole way of the smallest command; p50 and p99 are
// what an agent waits.
func BenchmarkExecTrue(b *testing.B) {
	m, c := newGuest(b)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		m.run(c, command{argv: []string{"true"}}).expect(b, 0, "", "")
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkUpload and BenchmarkDownload are the channel without Docker.
func BenchmarkUpload(b *testing.B) {
	m, c := newGuest(b)
	b.SetBytes(16 << 20)
	for b.Loop() {
		check(b, m.write(c, "big", io.LimitReader(endless{}, 16<<20)))
	}
}

func BenchmarkDownload(b *testing.B) {
	m, c := newGuest(b)
	b.SetBytes(16 << 20)
	for b.Loop() {
		_, err := m.exec(c, "head -c 16777216 /dev/zero")
		check(b, err)
	}
}
