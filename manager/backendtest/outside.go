package backendtest

import (
	"maps"
	"slices"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// StopContainer ends a container from outside, as "docker kill" does.
func (f *Fake) StopContainer(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[name]; c != nil {
		c.stop()
	}
}

// PauseContainer freezes a container from outside; its guest is lost.
func (f *Fake) PauseContainer(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.containers[name]; c != nil && c.state == manager.ContainerRunning {
		c.state = manager.ContainerPaused
		c.disconnect()
	}
}

// RemoveContainer destroys a container from outside; its volume stays.
func (f *Fake) RemoveContainer(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removeContainerLocked(name)
}

// RemoveVolume destroys a volume from outside, and stops what used it.
func (f *Fake) RemoveVolume(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.containers {
		if c.volume == name {
			c.stop()
		}
	}
	delete(f.volumes, name)
}

// PlantContainer makes a container that no record knows: managed ones are
// orphans that List reports, others belong to somebody else.
func (f *Fake) PlantContainer(name string, managed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.containers[name] = &container{name: name, state: manager.ContainerStopped, managed: managed}
}

// PlantVolume is PlantContainer for a volume.
func (f *Fake) PlantVolume(name string, managed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.volumes[name] = &volume{root: newDir(0o755), managed: managed}
}

// Containers names all containers there are, sorted.
func (f *Fake) Containers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.containers))
}

// Running names the containers that run, sorted.
func (f *Fake) Running() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	running := maps.Clone(f.containers)
	maps.DeleteFunc(running, func(_ string, c *container) bool { return c.state != manager.ContainerRunning })
	return slices.Sorted(maps.Keys(running))
}

// Volumes names all volumes there are, sorted.
func (f *Fake) Volumes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.volumes))
}

func (f *Fake) killAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.containers {
		c.stop()
	}
}
