package dockerbackend

import (
	"context"

	"github.com/docker/docker/api/types/image"
)

// expectation is what came of the last PrepareImage, and will most likely come
// of the next.
type expectation struct {
	ref      string
	prepared string // name
}

// lookedAhead is an inspection that goes on.
type lookedAhead struct {
	name  string // empty: of nothing
	found func() (image.InspectResponse, error)
}

// lookAhead inspects the image that was prepared for ref the last time, while the
// caller finds out whether ref still names the same base.
func (b *Backend) lookAhead(ctx context.Context, ref string) lookedAhead {
	last := b.expected.Load()
	if last == nil || last.ref != ref {
		return lookedAhead{}
	}
	return lookedAhead{last.prepared, later(func() (image.InspectResponse, error) {
		return b.docker.inspectImage(ctx, last.prepared)
	})}
}

// inspect is what was found, if it is of that name.
func (l lookedAhead) inspect(ctx context.Context, b *Backend, name string) (image.InspectResponse, error) {
	if l.name == name {
		return l.found()
	}
	return b.docker.inspectImage(ctx, name)
}

// later does something beside its caller, who gets a function that waits for it.
func later[T any](do func() (T, error)) (wait func() (T, error)) {
	var result T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = do()
	}()
	return func() (T, error) {
		<-done
		return result, err
	}
}
