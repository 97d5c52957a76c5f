package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// side is one way to do what all sides of a comparison do. before and after are
// not timed.
type side struct {
	name   string
	before func() error
	do     func() error
	after  func() error
}

// figure is what came out of one side.
type figure struct {
	Part   string  `json:"part"`
	What   string  `json:"what"`
	Side   string  `json:"side"`
	AtOnce int     `json:"at_once,omitempty"`
	Runs   int     `json:"runs,omitempty"`
	Unit   string  `json:"unit"`
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99,omitempty"`
	Ratio  float64 `json:"ratio_to_base,omitempty"` // of medians, to the first side
}

// aftermath is how long a turn waits for the one before to be over: when Docker
// has answered, its processes are still at it.
const aftermath = 50 * time.Millisecond

// compare lets the sides take turns: in each round each does the thing as often
// at once as is said. Who comes after whom is another in each round, and the same
// in each run: what a side leaves behind, in spite of the pause, must not always
// weigh on the same other one. The first side is the base of the ratios.
func (r *rig) compare(what string, rounds, atOnce int, sides ...side) error {
	rounds = max(3, int(float64(rounds)**scale))
	times := make([][]float64, len(sides))
	order := rand.New(rand.NewPCG(1, 1))
	for range rounds {
		for _, i := range order.Perm(len(sides)) {
			s := sides[i]
			time.Sleep(aftermath)
			took, err := s.round(atOnce)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", what, s.name, err)
			}
			times[i] = append(times[i], took...)
		}
	}
	for i, s := range sides {
		f := figure{Part: r.part, What: what, Side: s.name, AtOnce: atOnce, Runs: len(times[i]), Unit: "ms", P50: percentile(times[i], 50), P99: percentile(times[i], 99)}
		f.Ratio = f.P50 / percentile(times[0], 50)
		r.report.add(f)
	}
	return nil
}

// round is one turn, in milliseconds.
func (s side) round(atOnce int) ([]float64, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return nil, err
		}
	}
	took, errs := make([]float64, atOnce), make([]error, atOnce+1)
	var wg sync.WaitGroup
	for i := range atOnce {
		wg.Go(func() {
			began := time.Now()
			errs[i] = s.do()
			took[i] = float64(time.Since(began).Microseconds()) / 1000
		})
	}
	wg.Wait()
	if s.after != nil {
		errs[atOnce] = s.after()
	}
	return took, errors.Join(errs...)
}

// percentile is the nearest rank.
func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// once is a figure of its own, in a unit.
func (r *rig) once(what, side, unit string, value float64) {
	r.report.add(figure{Part: r.part, What: what, Side: side, Unit: unit, P50: value})
}
