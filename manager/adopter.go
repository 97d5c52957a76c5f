package manager

import "context"

// An Adopter is a Backend that can turn one incarnation into another, which is
// what a pool of them needs. A Backend that is none has no pool.
type Adopter interface {
	Backend

	// Fits tells whether an incarnation made with one spec can be turned into one
	// that is the same, in everything that Create fixes, as if made with another
	// spec of the same image. It makes no call.
	Fits(made, want Spec) bool

	// Adopt gives a running incarnation, made with one spec, another container's
	// name and the limits of another spec that fits. Volume and key of both refs
	// are the same. The guest g, which is connected to it, stays so. A name that is
	// taken is KindConflict. After an error either name may be the container's, and
	// its limits either spec's; Remove of both refs removes it.
	Adopt(ctx context.Context, g Guest, from, to Ref, made, want Spec) error
}
