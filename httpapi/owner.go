package httpapi

import (
	"context"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

type ownerKey struct{}

// OwnerFrom tells whose call runs under ctx. It is false outside of a call that
// has passed the door.
func OwnerFrom(ctx context.Context) (manager.Owner, bool) {
	o, ok := ctx.Value(ownerKey{}).(manager.Owner)
	return o, ok
}

func withOwner(ctx context.Context, o manager.Owner) context.Context {
	return context.WithValue(ctx, ownerKey{}, o)
}
