package dockerbackend

import "context"

// shared does work once for all who ask for the same key at the same time. It
// goes on when a caller leaves, for the others; it ends with the Backend.
func shared[T any](ctx context.Context, b *Backend, key string, work func(context.Context) (T, error)) (T, error) {
	done := b.flights.DoChan(key, func() (any, error) { return work(b.ctx) })
	select {
	case result := <-done:
		value, _ := result.Val.(T)
		return value, result.Err
	case <-ctx.Done():
		var zero T
		return zero, dockerError("wait for "+key, context.Cause(ctx))
	}
}
