package e2e

import (
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/e2e/client"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// verdict is what an answer says about what was asked for.
type verdict int

const (
	open verdict = iota // it was done, or not, or is being done
	granted
	denied // it was not done
)

func verdictOf(err error) verdict {
	if err == nil {
		return granted
	}
	switch schemas.Code(client.Code(err)) {
	case schemas.CodeInvalidRequest, schemas.CodeForbidden, schemas.CodeNotFound, schemas.CodeConflict,
		schemas.CodePayloadTooLarge, schemas.CodeLimitExceeded, schemas.CodeInsufficientStorage:
		return denied
	}
	return open
}

// judge fails the test on an answer that there can be no reason for. mayGo: what
// was asked about may be gone.
func (m *model) judge(call string, err error, mayGo bool) verdict {
	m.s.t.Helper()
	m.mu.Lock()
	m.calls++
	m.mu.Unlock()
	switch code := schemas.Code(client.Code(err)); {
	case code == schemas.CodeInternal, code == schemas.CodeInvalidRequest,
		code == schemas.CodeNotFound && !mayGo,
		(code == schemas.CodeBackendError || code == schemas.CodeBackendUnavailable) && !m.mayFail:
		m.s.t.Errorf("%s: %v\n%s", call, err, tail(m.s.Log()))
	}
	return verdictOf(err)
}

// never, mayLack and mayHaveNo say whether "not found" is a right answer to a
// call, once it is there.
func never() bool { return false }

func (m *model) mayLack(b *modelSandbox) func() bool { return func() bool { return m.mayBeGone(b) } }

func (m *model) mayHaveNo(snap *modelSnapshot) func() bool {
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return snap.mayGo
	}
}

// create makes a sandbox.
func (m *model) create(a args) (*modelSandbox, error) {
	m.s.t.Helper()
	ttl := 900 * time.Second
	if seconds, ok := a["timeout_seconds"].(int); ok {
		ttl = time.Duration(seconds) * time.Second
	}
	made, err := m.make("sandbox_create", 1, ttl, []state{{files: files{}}}, never, func() ([]schemas.Sandbox, error) {
		b, err := try[schemas.Sandbox](m.s, "sandbox_create", a)
		return []schemas.Sandbox{b}, err
	})
	if err != nil {
		return nil, err
	}
	return made[0], nil
}

// fork makes sandboxes of a snapshot.
func (m *model) fork(snap *modelSnapshot, count int) ([]*modelSandbox, error) {
	m.s.t.Helper()
	m.mu.Lock()
	var states []state
	for _, f := range snap.files {
		states = append(states, state{f, snap.ID})
	}
	m.mu.Unlock()
	return m.make("fork", count, 900*time.Second, states, m.mayHaveNo(snap), func() ([]schemas.Sandbox, error) {
		r, err := try[schemas.ForkResult](m.s, "fork", args{"snapshot_id": snap.ID, "count": count})
		return r.Sandboxes, err
	})
}

// forkSandbox makes one of a sandbox, and a snapshot to go with it.
func (m *model) forkSandbox(b *modelSandbox) (made *modelSandbox, err error) {
	m.s.t.Helper()
	b.changing.Lock()
	defer b.changing.Unlock()
	var states []state
	saves := m.beginSaving(b)
	for _, f := range saves.files {
		states = append(states, state{f, anySnapshot})
	}
	var answer []schemas.Sandbox
	_, err = m.make("fork", 1, 900*time.Second, states, m.mayLack(b), func() ([]schemas.Sandbox, error) {
		r, err := try[schemas.ForkResult](m.s, "fork", args{"sandbox_id": b.ID})
		answer = r.Sandboxes
		return answer, err
	})
	m.endSaving(saves, verdictOf(err), func() *modelSnapshot {
		return &modelSnapshot{ID: *answer[0].SourceSnapshotID}
	})
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sandboxes[answer[0].ID], nil
}

// make makes a call that makes sandboxes in one of some states.
func (m *model) make(call string, count int, ttl time.Duration, states []state, mayGo func() bool, run func() ([]schemas.Sandbox, error)) (all []*modelSandbox, err error) {
	m.s.t.Helper()
	began := time.Now()
	makes := &making{count, states, until(began, began.Add(callLimit), ttl)}
	m.mu.Lock()
	m.making[makes] = true
	m.mu.Unlock()
	made, err := run()
	v := m.judge(call, err, mayGo())
	m.mu.Lock()
	defer m.mu.Unlock()
	if v == open {
		return nil, err
	}
	delete(m.making, makes)
	if v == granted {
		for _, b := range made {
			all = append(all, m.adopt(b, makes))
		}
	}
	return all, err
}

// adopt takes in a sandbox that a call has made. m.mu is held.
func (m *model) adopt(b schemas.Sandbox, makes *making) *modelSandbox {
	known := &modelSandbox{ID: b.ID, number: m.next(), expires: []span{{b.ExpiresAt, b.ExpiresAt}}}
	for _, s := range makes.states {
		if s.isFrom(b.SourceSnapshotID) {
			if b.SourceSnapshotID != nil {
				s.from = *b.SourceSnapshotID
			}
			known.states = append(known.states, s)
		}
	}
	if len(known.states) == 0 || !makes.expires.has(b.ExpiresAt) {
		m.s.t.Errorf("made %+v, asked for one of %v that expires in %v", b, makes.states, makes.expires)
	}
	m.sandboxes[b.ID], m.ids[string(b.ID)] = known, true
	return known
}

// change makes a call that turns a sandbox from what it is into what next says,
// by way of what half says if that is not nil.
func (m *model) change(b *modelSandbox, call string, mayGo func() bool, next, half func(state) []state, run func() error) error {
	m.s.t.Helper()
	b.changing.Lock()
	defer b.changing.Unlock()
	m.mu.Lock()
	before := b.states
	var after, between []state
	for _, s := range before {
		after = append(after, next(s)...)
		if half != nil {
			between = append(between, half(s)...)
		}
	}
	b.states = append(append(append([]state(nil), before...), between...), after...)
	m.mu.Unlock()
	err := run()
	v := m.judge(call, err, mayGo() || m.mayBeGone(b))
	m.mu.Lock()
	defer m.mu.Unlock()
	switch v {
	case granted:
		b.states = after
	case denied:
		b.states = before
	}
	return err
}

func (m *model) write(b *modelSandbox, name, content string) error {
	m.s.t.Helper()
	sum := sumOf(content)
	next := func(s state) []state { return []state{{s.files.withSum(name, sum), s.from}} }
	return m.change(b, "write_file", never, next, nil, func() error {
		return m.s.Call(ctx(m.s.t), "write_file", args{"sandbox_id": b.ID, "path": name, "content": content}, nil)
	})
}

// exec writes a line to a file of a new name, and prints it.
func (m *model) exec(b *modelSandbox, name, line string) error {
	m.s.t.Helper()
	next := func(s state) []state { return []state{{s.files.with(name, line+"\n"), s.from}} }
	empty := func(s state) []state { return []state{{s.files.with(name, ""), s.from}} }
	return m.change(b, "exec", never, next, empty, func() error {
		r, err := try[schemas.ExecResult](m.s, "exec", args{"sandbox_id": b.ID, "command": "echo " + line + " >> " + name + "; cat " + name})
		if err == nil && (r.ExitCode != 0 || r.Stdout != line+"\n") {
			m.s.t.Errorf("a command that is to write %s once: %+v", name, r)
		}
		return err
	})
}

func (m *model) rollback(b *modelSandbox, snap *modelSnapshot) error {
	m.s.t.Helper()
	next := func(state) (all []state) {
		for _, f := range snap.files {
			all = append(all, state{f, snap.ID})
		}
		return all
	}
	return m.change(b, "rollback", m.mayHaveNo(snap), next, nil, func() error {
		return m.s.Call(ctx(m.s.t), "rollback", args{"sandbox_id": b.ID, "snapshot_id": snap.ID}, nil)
	})
}

func (m *model) renew(b *modelSandbox, ttl time.Duration) error {
	m.s.t.Helper()
	b.renewing.Lock()
	defer b.renewing.Unlock()
	began := time.Now()
	m.mu.Lock()
	before := b.expires
	b.expires = append(append([]span(nil), before...), until(began, began.Add(callLimit), ttl))
	m.mu.Unlock()
	answer, err := try[schemas.Sandbox](m.s, "sandbox_set_timeout", args{"sandbox_id": b.ID, "timeout_seconds": int(ttl.Seconds())})
	v := m.judge("sandbox_set_timeout", err, m.mayBeGone(b))
	m.mu.Lock()
	defer m.mu.Unlock()
	switch v {
	case granted:
		b.expires = []span{{answer.ExpiresAt, answer.ExpiresAt}}
		if !until(began, time.Now(), ttl).has(answer.ExpiresAt) {
			m.s.t.Errorf("given %v at %v it expires at %v", ttl, began, answer.ExpiresAt)
		}
	case denied:
		b.expires = before
	}
	return err
}

func (m *model) destroy(b *modelSandbox) error {
	m.s.t.Helper()
	mayGo := m.mayBeGone(b)
	m.mu.Lock()
	b.mayGo = true
	b.destroys++
	m.mu.Unlock()
	err := m.s.destroy(b.ID)
	m.mu.Lock()
	mayGo = mayGo || b.destroys > 1 // another client's may have come first
	m.mu.Unlock()
	if m.judge("sandbox_destroy", err, mayGo) != open {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.sandboxes, b.ID)
	}
	return err
}
