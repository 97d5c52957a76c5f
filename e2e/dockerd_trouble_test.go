package e2e

import (
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestDockerdTrouble is J5, J6 and J8 on a real daemon and under load: several
// clients work while it is stopped, killed, frozen and slow. Then all holds that
// always must.
func TestDockerdTrouble(t *testing.T) {
	t.Parallel()
	d := startDockerd(t, 1024)
	s := d.serve(t)
	m := newModel(s)
	m.mayFail = true
	for round := range count(1, 10) {
		for _, trouble := range []struct {
			name string
			make func()
		}{
			{"stopped and started", func() { d.end(syscall.SIGTERM); d.start() }},
			{"killed and started", func() { d.end(syscall.SIGKILL); d.start() }},
			{"stopped and started later", func() { d.end(syscall.SIGTERM); time.Sleep(5 * time.Second); d.start() }},
			{"frozen for a moment", func() { d.freeze(2 * time.Second) }},
			{"frozen", func() { d.freeze(20 * time.Second) }},
			{"slow", func() {
				for range 100 {
					d.freeze(100 * time.Millisecond)
					time.Sleep(20 * time.Millisecond)
				}
			}},
		} {
			if !t.Run(trouble.name, func(t *testing.T) { duringTrouble(s.in(t), m, uint64(round), trouble.make) }) {
				return
			}
		}
	}
}

func (d *dockerd) freeze(limit time.Duration) {
	d.signal(syscall.SIGSTOP)
	time.Sleep(limit)
	d.signal(syscall.SIGCONT)
}

// duringTrouble lets clients work until some time after a trouble is over, and
// then checks that all is well.
func duringTrouble(s *server, m *model, round uint64, trouble func()) {
	m.s = s
	var clients sync.WaitGroup
	over := make(chan struct{})
	end := sync.OnceFunc(func() { close(over); clients.Wait() })
	defer func() {
		end()
		if s.t.Failed() {
			s.t.Logf("%s", s.Log())
		}
	}()
	for i := range chaosClients {
		r := rand.New(rand.NewPCG(*seed+round, uint64(i)))
		clients.Go(func() {
			for !closed(over) {
				began := time.Now()
				m.act(r)
				if took := time.Since(began); took > 90*time.Second {
					s.t.Errorf("a call took %v", took)
				}
			}
		})
	}
	time.Sleep(500 * time.Millisecond) // so that they are at work
	trouble()
	time.Sleep(500 * time.Millisecond)
	end()
	m.note()
	checkInvariants(s.t, s, m)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
