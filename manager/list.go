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
	own := []schemas.Sandbox{}
	for _, s := range m.all() {
		if r := s.record(); r.Owner == o && r.live(m.now()) {
			own = append(own, s.view())
		}
	}
	page, next := pageOf(own, sandboxKey, w)
	return schemas.SandboxList{Sandboxes: page, NextCursor: next}, nil
}

func sandboxKey(s schemas.Sandbox) string { return ageKey(s.CreatedAt, string(s.ID)) }

// ageKey orders by age, and what is of one age by ID.
func ageKey(created time.Time, id string) string {
	return fmt.Sprintf("%020d %s", created.UnixNano(), id)
}
