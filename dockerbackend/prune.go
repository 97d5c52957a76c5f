package dockerbackend

import (
	"context"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

// When prepared images that are of no more use go. The age spares those of
// another release of the server that runs beside this one.
const (
	pruneDelay    = time.Minute
	pruneInterval = 6 * time.Hour
	pruneAge      = 24 * time.Hour
)

// pruner waits for a quiet moment.
type pruner struct {
	mu      sync.Mutex
	timer   *time.Timer
	next    time.Time
	stopped bool
}

// pruneSoon sees to it that images are pruned now and then: some time after a
// use, so that no sandbox waits for it, and never without one.
func (b *Backend) pruneSoon() {
	p := &b.pruning
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(pruneInterval)
	p.timer = time.AfterFunc(pruneDelay, func() {
		b.pruneImages(b.ctx, pruneAge)
		b.dropNetwork(b.ctx)
	})
}

func (p *pruner) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// pruneImages removes prepared images older than age that no sandbox will be
// made from. Docker refuses to remove one that a container uses, which settles
// the matter better than looking could. Only those that the filters let through
// are looked at.
func (b *Backend) pruneImages(ctx context.Context, age time.Duration, only ...filters.KeyValuePair) {
	images, err := b.docker.listImages(ctx, append(only, filters.Arg("label", labelManaged+"="+managed), filters.Arg("label", labelBuild))...)
	if err != nil {
		return
	}
	for _, i := range images {
		if time.Since(time.Unix(i.Created, 0)) < age || !b.isObsolete(ctx, i) {
			continue
		}
		name := i.ID
		if len(i.RepoTags) == 1 {
			name = i.RepoTags[0]
		}
		if err := b.docker.removeImage(ctx, name); err == nil {
			b.log.Info("removed an old prepared image", "image", name)
		}
	}
}

// isObsolete: made for another guest, from a base that is gone, or superseded.
// An image that somebody gave a name of their own is theirs.
func (b *Backend) isObsolete(ctx context.Context, i image.Summary) bool {
	ours := 0
	for _, tag := range i.RepoTags {
		switch {
		case tag == "<none>:<none>": // how old engines say "no tag"
		case strings.HasPrefix(tag, preparedRepository+":"):
			ours++
		default:
			return false
		}
	}
	return ours == 0 || !b.isCurrent(ctx, i.Labels[labelBuild]) || b.baseIsGone(ctx, i.Labels[labelBase])
}

// isCurrent tells whether a recipe is what this server prepares images by. When
// it cannot be told, it is.
func (b *Backend) isCurrent(ctx context.Context, recipe string) bool {
	facts, err := b.hostFacts(ctx)
	if err != nil {
		return true
	}
	guest, err := b.guest.get(facts.arch)
	return err != nil || recipe == b.recipe(guest)
}

// baseIsGone: nobody can name it any more. Docker keeps an image that another
// was committed from, without its names.
func (b *Backend) baseIsGone(ctx context.Context, id string) bool {
	base, err := b.docker.inspectImage(ctx, id)
	return cerrdefs.IsNotFound(err) || err == nil && len(base.RepoTags)+len(base.RepoDigests) == 0
}
