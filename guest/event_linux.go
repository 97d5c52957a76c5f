package guest

// event wakes all who wait for it to happen next. It belongs to a lock, under
// which both methods are called. Unlike a sync.Cond it can be waited for along
// with other things.
type event struct{ next chan struct{} }

func (e *event) wait() <-chan struct{} {
	if e.next == nil {
		e.next = make(chan struct{})
	}
	return e.next
}

func (e *event) happen() {
	if e.next != nil {
		close(e.next)
		e.next = nil
	}
}
