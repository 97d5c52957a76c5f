package manager

import (
	"fmt"
	"maps"
	"math"
	"time"
)

// The least that a sandbox needs to exist at all.
const (
	minCPUs      = 0.01 // of which the kernel's scheduler still makes a quota
	minMemoryMB  = 16
	minPidsLimit = 32
)

// overrides are the parts of a spec that a caller may choose; nil keeps what
// the base has.
type overrides struct {
	CPUs           *float64
	MemoryMB       *int64
	PidsLimit      *int64
	Network        *bool
	ReadOnlyRootfs *bool
	Env            map[string]string // added to the base's
}

// defaultSpec is a sandbox of an image for which nothing was chosen.
func (m *Manager) defaultSpec(image string) Spec {
	return Spec{
		Image: image, CPUs: m.cfg.DefaultCPUs, MemoryMB: m.cfg.DefaultMemoryMB,
		PidsLimit: m.cfg.DefaultPidsLimit, ReadOnlyRootfs: true,
	}
}

// shape applies overrides to a base and checks the whole, so that a base from
// times of other limits cannot pass them either.
func (m *Manager) shape(base Spec, o overrides) (Spec, error) {
	set(&base.CPUs, o.CPUs)
	set(&base.MemoryMB, o.MemoryMB)
	set(&base.PidsLimit, o.PidsLimit)
	set(&base.Network, o.Network)
	set(&base.ReadOnlyRootfs, o.ReadOnlyRootfs)
	env := maps.Clone(base.Env)
	if len(o.Env) > 0 && env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, o.Env)
	base.Env = env
	return base, m.checkSpec(base)
}

func set[T any](field *T, choice *T) {
	if choice != nil {
		*field = *choice
	}
}

func (m *Manager) checkSpec(s Spec) error {
	if err := within("cpus", s.CPUs, minCPUs, m.cfg.MaxCPUs); err != nil {
		return err
	}
	if err := within("memory_mb", s.MemoryMB, minMemoryMB, m.cfg.MaxMemoryMB); err != nil {
		return err
	}
	if err := within("pids_limit", s.PidsLimit, minPidsLimit, m.cfg.MaxPidsLimit); err != nil {
		return err
	}
	if s.Network && !m.cfg.AllowNetwork {
		return &Error{
			Kind: KindForbidden, Message: "network is true, but this server does not allow network access",
			Hint: "Leave network out, or ask the operator to allow it.",
		}
	}
	return checkEnv(s.Env)
}

// checkTTL turns timeout_seconds into a time to live; nil is the default.
func (m *Manager) checkTTL(seconds *int64) (time.Duration, error) {
	s := m.cfg.DefaultTimeoutSeconds
	set(&s, seconds)
	if err := within("timeout_seconds", s, 1, m.cfg.MaxTimeoutSeconds); err != nil {
		return 0, err
	}
	return time.Duration(s) * time.Second, nil
}

// within refuses a number outside a range, and what is not a number.
func within[T int64 | float64](field string, v, low, high T) error {
	if v >= low && v <= high && !math.IsNaN(float64(v)) {
		return nil
	}
	return invalid("%s is %v; allowed is %s", field, v, span(low, high))
}

func span[T int64 | float64](low, high T) string { return fmt.Sprintf("%v to %v", low, high) }
