package dockerbackend

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/volume"
)

// errNonsense is an answer that cannot be Docker's: something in between, or a
// daemon in trouble, made it up. Nothing may be concluded from what it lacks.
var errNonsense = errors.New("an answer that makes no sense as Docker's")

// sensible makes a call fail whose answer lacks what Docker always says.
func sensible[T any](f func(context.Context) (T, error), says func(T) bool) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		answer, err := f(ctx)
		if err == nil && !says(answer) {
			err = errNonsense
		}
		return answer, err
	}
}

func saysContainer(c container.InspectResponse) bool {
	return c.ContainerJSONBase != nil && c.ID != "" && c.State != nil && c.HostConfig != nil && c.Config != nil
}

func saysContainers(all []container.Summary) bool {
	return !slices.ContainsFunc(all, func(c container.Summary) bool { return c.ID == "" })
}

func saysCreated(c container.CreateResponse) bool { return c.ID != "" }

func saysCommitted(c container.CommitResponse) bool { return c.ID != "" }

func saysVolume(v volume.Volume) bool { return v.Name != "" }

func saysVolumes(l volume.ListResponse) bool {
	return !slices.ContainsFunc(l.Volumes, func(v *volume.Volume) bool { return v == nil || v.Name == "" })
}

func saysImage(i image.InspectResponse) bool { return i.ID != "" }

func saysImages(all []image.Summary) bool {
	return !slices.ContainsFunc(all, func(i image.Summary) bool { return i.ID == "" })
}

func saysVersion(v types.Version) bool { return v.Version != "" }

func saysInfo(i system.Info) bool { return i.NCPU > 0 }

func saysNetwork(n network.Inspect) bool { return n.ID != "" }

// notJSON: Docker's client could not read the answer.
func notJSON(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind)
}
