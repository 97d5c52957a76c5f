package dockerbackend

import (
	"testing"

	"github.com/docker/docker/api/types/container"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

func TestContainerStates(t *testing.T) {
	for _, c := range []struct {
		state container.State
		want  manager.ContainerState
	}{
		{container.State{Status: "running", Running: true}, manager.ContainerRunning},
		{container.State{Status: "paused", Running: true, Paused: true}, manager.ContainerPaused},
		{container.State{Status: "created"}, manager.ContainerStopped},
		{container.State{Status: "exited"}, manager.ContainerStopped},
		{container.State{Status: "removing"}, manager.ContainerGone},
		{container.State{Status: "dead", Dead: true}, manager.ContainerGone},
	} {
		if got := containerState(&c.state); got != c.want {
			t.Errorf("%s: %s, want %s", c.state.Status, got, c.want)
		}
	}
}
