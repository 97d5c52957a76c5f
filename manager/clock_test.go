package manager_test

import (
	"fmt"
	"os"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// testClock goes as time does in the test, which is what Go's timers run by, and
// can do what a machine's clocks may.
type testClock struct {
	mu     sync.Mutex
	booted time.Time // on the test's time
	boots  int
	set    time.Duration // the wall clock, against the test's
	slept  time.Duration
}

func newClock() *testClock { return &testClock{booted: time.Now().Add(-time.Hour)} }

func (c *testClock) now() manager.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := time.Now().Round(0)
	return manager.Instant{Wall: t.Add(c.set), Up: t.Sub(c.booted) + c.slept, Boot: fmt.Sprint("boot ", c.boots)}
}

// setWall sets the wall clock, as NTP does.
func (c *testClock) setWall(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set += by
}

// sleep suspends the machine: its clocks go on, its timers do not.
func (c *testClock) sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set += d
	c.slept += d
}

// reboot starts the machine anew, after it was off so long.
func (c *testClock) reboot(off time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boots++
	c.booted, c.slept = time.Now(), 0
	c.set += off
}

const year = 365 * 24 * time.Hour

// shownLeft is what the listed expiry says.
func (s *server) shownLeft(id schemas.SandboxID) time.Duration {
	s.t.Helper()
	b, err := s.Get(s.t.Context(), owner, id)
	if err != nil {
		s.t.Fatal(err)
	}
	return b.ExpiresAt.Sub(s.clock.now().Wall)
}

func (s *server) wantEndsIn(id schemas.SandboxID, d time.Duration) {
	s.t.Helper()
	time.Sleep(d - time.Second)
	if s.isGone(id) {
		s.t.Fatalf("it is gone before %v were over", d)
	}
	s.mustSh(id, "true")
	time.Sleep(time.Second)
	if !s.isGone(id) {
		s.t.Fatalf("it is there after %v", d)
	}
	time.Sleep(10 * time.Second)
	s.wantNothingLeft()
}

// A wall clock that is set ends no sandbox early and keeps none: it has what it
// was given, and its expiry is shown as the clock goes now.
func TestWallClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{time.Minute, time.Hour, 30 * year, -time.Minute, -time.Hour, -30 * year} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprint(by, restarted), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := start(t)
					id := s.create().ID
					time.Sleep(5 * time.Minute)
					if restarted {
						s.Close()
					}
					s.clock.setWall(by)
					if restarted {
						s = restart(t, s)
					}
					time.Sleep(11 * time.Second)
					if left := s.shownLeft(id); (left - (10*time.Minute - 11*time.Second)).Abs() > 2*time.Second {
						t.Errorf("it is shown to end in %v", left)
					}
					s.wantEndsIn(id, 10*time.Minute-11*time.Second)
				})
			})
		}
	}
}

// A small correction changes nothing that clients see.
func TestWallClockIsCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		b := s.create()
		s.clock.setWall(time.Second)
		time.Sleep(time.Minute)
		if again, err := s.Get(t.Context(), owner, b.ID); err != nil || again != b {
			t.Errorf("%+v, %v; was %+v", again, err, b)
		}
	})
}

// Sleep counts, although timers stand still in it.
func TestMachineSleeps(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t)
			short, long := s.create(withTTL(600)).ID, s.create(withTTL(3600)).ID
			if restarted {
				s.Close()
			}
			s.clock.sleep(30 * time.Minute)
			if restarted {
				s = restart(t, s)
			}
			if !s.isGone(short) || s.isGone(long) {
				t.Errorf("right after it: short gone %v, long gone %v", s.isGone(short), s.isGone(long))
			}
			time.Sleep(11 * time.Second)
			if got := s.fake.Containers(); len(got) != 1 {
				t.Errorf("containers are %q", got)
			}
			s.wantEndsIn(long, 30*time.Minute-11*time.Second)
		})
	}
}

// Across a start of the machine the wall clock is all there is. One that was set
// back gives no more than the time to live, once, however often the server starts.
func TestMachineStartsAnew(t *testing.T) {
	for name, c := range map[string]struct {
		off  time.Duration
		left time.Duration
	}{
		"at once":                        {0, 10 * time.Minute},
		"later":                          {5 * time.Minute, 5 * time.Minute},
		"too late":                       {10 * time.Minute, 0},
		"with a clock a little back":     {-2 * time.Minute, 12 * time.Minute},
		"with a clock that lost all":     {-30 * year, 15 * time.Minute},
		"with a clock far in the future": {30 * year, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t)
				id := s.create().ID
				time.Sleep(5 * time.Minute)
				s.Close()
				s.clock.reboot(c.off)
				s = restart(t, s)
				if c.left == 0 {
					synctest.Wait()
					s.wantNothingLeft()
					return
				}
				for range 3 {
					time.Sleep(30 * time.Second)
					s.Close()
					s = restart(t, s)
				}
				s.clock.setWall(30 * year) // NTP mends it
				s.wantEndsIn(id, c.left-90*time.Second)
			})
		})
	}
}

// A record of a release that knew the wall clock only.
func TestRecordWithoutBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		id := s.create().ID
		s.Close()
		data, err := os.ReadFile(s.recordFile(id))
		if err != nil {
			t.Fatal(err)
		}
		old := regexp.MustCompile(`(?m)^ *"(ttl_ns|end_ns|boot)".*\n`).ReplaceAll(data, nil)
		if len(old) == len(data) {
			t.Fatalf("record is %s", data)
		}
		if err := os.WriteFile(s.recordFile(id), old, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		s = restart(t, s)
		time.Sleep(11 * time.Second)
		s.clock.setWall(-year)
		s.wantEndsIn(id, 10*time.Minute-11*time.Second)
	})
}

// The sandbox's own deadline, for when no server is there, is what is left.
func TestDeadlineAfterTheClockWasSet(t *testing.T) {
	for _, by := range []time.Duration{year, -year} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t)
			id := s.create().ID
			s.Close()
			s.clock.setWall(by)
			s = restart(t, s)
			s.mustSh(id, "true") // connects, and so tells
			s.Close()
			time.Sleep(899 * time.Second)
			if got := s.fake.Running(); len(got) != 1 {
				t.Errorf("set by %v: it has stopped before its time: %q", by, got)
			}
			time.Sleep(4 * time.Second)
			if got := s.fake.Running(); len(got) != 0 {
				t.Errorf("set by %v: it still runs", by)
			}
		})
	}
}

// What Docker's clock says was made in the future is no newer than the rest: a
// clock was set back since.
func TestOrphanOfTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		s.Close()
		s.fake.PlantContainer("orphan", true)
		s.clock.setWall(-year)
		s = restart(t, s)
		synctest.Wait()
		s.wantNothingLeft()
	})
}
