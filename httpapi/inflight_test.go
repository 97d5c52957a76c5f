package httpapi

import "testing"

// TestSlotsAreKept: who takes all there is leaves the others their few.
func TestSlotsAreKept(t *testing.T) {
	s := newSlots(64)
	for range 64 {
		if !s.take("greedy") {
			t.Fatal("refused although there is room")
		}
	}
	if s.take("greedy") {
		t.Error("more than there are")
	}
	for range s.kept {
		if !s.take("modest") {
			t.Error("refused what is kept")
		}
	}
	if s.take("modest") {
		t.Error("more than is kept")
	}
	for range s.kept {
		s.give("modest")
	}
	if len(s.own) != 1 || s.all != 64 {
		t.Errorf("%d owners, %d calls", len(s.own), s.all)
	}
}
