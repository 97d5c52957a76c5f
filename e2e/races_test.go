package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/manager/races"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// TestRaces has every two operations meet on one sandbox of real Docker, a few
// times each, and holds what comes of it against the table of docs/guarantees.md.
// A restart is a kill here. Contents are held against it by the manager's test of
// the same name, many times; here it is that all sides stay whole.
func TestRaces(t *testing.T) {
	t.Parallel()
	s := startAt(t, client.REST, "--reap-interval-seconds=1", "--max-sandboxes=100")
	var live, killed [][2]races.Op
	for i, a := range races.Ops {
		for _, b := range races.Ops[i:] {
			switch {
			case len(races.Allowed(a, b)) == 0:
			case b == races.Restart:
				killed = append(killed, [2]races.Op{a, b})
			default:
				live = append(live, [2]races.Op{a, b})
			}
		}
	}
	repeat(t, len(live)*count(1, 10), 4, func(i int) error { return s.race(live[i%len(live)]) })
	for range count(1, 5) {
		for _, pair := range killed {
			if err := s.race(pair); err != nil {
				t.Error(err)
			}
		}
	}
	for _, snap := range s.snapshots() {
		check(t, s.deleteSnapshot(snap.ID))
	}
	s.rest(nil)
}

// race carries out two operations on a new sandbox, and removes what is left.
func (s *server) race(pair [2]races.Op) error {
	ttl := 300
	if slices.Contains(pair[:], races.Expiry) {
		ttl = 2
	}
	box, err := try[schemas.Sandbox](s, "sandbox_create", args{"timeout_seconds": ttl})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	saved := schemas.Snapshot{}
	if slices.Contains(pair[:], races.Rollback) {
		if saved, err = try[schemas.Snapshot](s, "snapshot", args{"sandbox_id": box.ID}); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	if ttl == 2 {
		time.Sleep(time.Until(box.ExpiresAt) - 100*time.Millisecond) // to meet the expiry
	}
	var results [2]error
	var both sync.WaitGroup
	for i, op := range pair {
		wait := rand.N(60 * time.Millisecond)
		both.Go(func() {
			time.Sleep(wait) // another order of the two each time
			results[i] = s.raceOp(op, box, saved.ID)
		})
	}
	both.Wait()
	if pair[1] == races.Restart {
		s.up()
	}
	for i, op := range pair {
		if bad := raceVerdict(op, pair[1-i], results[i]); bad != nil {
			err = errors.Join(err, bad)
		}
	}
	return errors.Join(err, s.afterRace(pair, results, box))
}

func (s *server) raceOp(op races.Op, box schemas.Sandbox, saved schemas.SnapshotID) error {
	c, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	a := args{"sandbox_id": box.ID}
	switch op {
	case races.Exec:
		return s.Call(c, "exec", a.with(args{"command": "echo x > exec; sleep 0.1; cat exec"}), nil)
	case races.Stream:
		_, err := s.Live(c, a.with(args{"command": "echo x > stream; sleep 0.1; cat stream"}), func(string) {})
		return err
	case races.Put:
		return s.Call(c, "write_file", a.with(args{"path": "put", "content": strings.Repeat("x", 1<<20)}), nil)
	case races.Snapshot:
		return s.Call(c, "snapshot", a, nil)
	case races.Rollback:
		return s.Call(c, "rollback", a.with(args{"snapshot_id": saved}), nil)
	case races.Fork:
		return s.Call(c, "fork", a, nil)
	case races.Renew:
		return s.Call(c, "sandbox_set_timeout", a.with(args{"timeout_seconds": 300}), nil)
	case races.Destroy:
		return s.destroy(box.ID)
	case races.Restart:
		s.Kill()
	case races.Expiry:
		time.Sleep(time.Until(box.ExpiresAt) + 200*time.Millisecond) // it comes by itself
	}
	return nil
}

// raceVerdict holds the end of an operation against the table. Without an answer
// the server was killed.
func raceVerdict(op, beside races.Op, err error) error {
	got := races.Done
	var refused *client.ToolError
	switch {
	case errors.As(err, &refused):
		e := schemas.Error{Code: schemas.Code(refused.Code), Retryable: strings.Contains(refused.Text, "in progress")}
		for _, reason := range []string{"rolled_back", "destroyed", "expired"} {
			if strings.HasSuffix(strings.TrimSuffix(refused.Text, ")"), reason) {
				e.Reason = reason
			}
		}
		got = races.OfError(e)
	case err != nil:
		got = races.Ended
	}
	if !slices.Contains(races.Allowed(op, beside), got) {
		return fmt.Errorf("%s beside %s: %q (%v)", op, beside, got, err)
	}
	return nil
}

// afterRace: the sandbox is there and works, or it is gone, as was said.
func (s *server) afterRace(pair [2]races.Op, results [2]error, box schemas.Sandbox) error {
	did := func(op races.Op) bool {
		return pair[0] == op && results[0] == nil || pair[1] == op && results[1] == nil
	}
	asked := func(op races.Op) bool { return pair[0] == op || pair[1] == op }
	must := did(races.Destroy) || asked(races.Expiry) && !did(races.Renew)
	_, err := try[schemas.ExecResult](s, "exec", args{"sandbox_id": box.ID, "command": "true"})
	switch gone := client.Code(err) == string(schemas.CodeNotFound); {
	case gone && (must || asked(races.Destroy)):
	case gone || must || err != nil:
		return fmt.Errorf("%s beside %s: %v, then the sandbox says %v", pair[0], pair[1], errors.Join(results[:]...), err)
	default:
		err = s.destroy(box.ID)
		if err != nil {
			return fmt.Errorf("%s beside %s: destroy: %w", pair[0], pair[1], err)
		}
	}
	return nil
}
