package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// List describes the sandboxes of an owner, oldest first.
func (m *Manager) List(_ context.Context, o Owner, p schemas.Page) (schemas.SandboxList, error) {
	w, err := checkPage(p, sandboxPages, defaultPage, maxPage)
	if err != nil {
		return schemas.SandboxList{}, err
	}
	if m.ctx.Err() != nil {
		return schemas.SandboxList{}, closing()
	}
	var own []*sandbox
	now := m.now()
	for _, s := range m.all() {
		if r := s.record(); r.Owner == o && r.live(now) {
			own = append(own, s)
		}
	}
	page, next := pageOf(own, (*sandbox).ageKey, w)
	list := schemas.SandboxList{Sandboxes: []schemas.Sandbox{}, NextCursor: next}
	for _, s := range page {
		list.Sandboxes = append(list.Sandboxes, s.view())
	}
	return list, nil
}

// ageKey stays as it is once clients see the sandbox.
func (s *sandbox) ageKey() string { return ageKey(s.record().CreatedAt, string(s.id)) }

// ageKey orders by age, and what is of one age by ID.
func ageKey(created time.Time, id string) string {
	return fmt.Sprintf("%020d %s", created.UnixNano(), id)
}
