package dockerbackend

import (
	"maps"
	"strings"
)

// Labels on everything that this package makes.
const (
	labelManaged  = "io.agent-sandbox.managed"  // "true"
	labelInstance = "io.agent-sandbox.instance" // the server that made it

	// labelCreation is random for each Create. Docker answers the creation of a
	// volume that exists already with that volume, so nothing else tells "made
	// now" from "was there".
	labelCreation = "io.agent-sandbox.creation"

	// Labels of a prepared image and of the container it is committed from.
	labelBase  = "io.agent-sandbox.prepared-from" // ID of the base image
	labelBuild = "io.agent-sandbox.prepared-by"   // build of the guest, see recipe
)

const managed = "true"

// labels are those of everything made for one server, plus extra.
func labels(instance string, extra map[string]string) map[string]string {
	all := map[string]string{labelManaged: managed, labelInstance: instance}
	maps.Copy(all, extra)
	return all
}

// owns tells whether a thing with these labels is this server's to remove. A
// managed thing that names no server counts as its own.
func (b *Backend) owns(labels map[string]string) bool {
	instance, named := labels[labelInstance]
	return labels[labelManaged] == managed && (!named || instance == b.cfg.Instance)
}

// ownsContainer is owns for a container.
func (b *Backend) ownsContainer(name string, labels map[string]string) bool {
	return b.owns(labels) && !isByHand(name, labels)
}

// isByHand tells whether a container has its labels from a prepared image that
// somebody runs by hand: it is theirs.
func isByHand(name string, labels map[string]string) bool {
	_, inherits := labels[labelBuild]
	_, created := labels[labelCreation]
	return inherits && !created && !isHelper(name)
}

// isHelper: a prepared image is made from it. One without a name is half removed.
func isHelper(name string) bool {
	return name == "" || strings.HasPrefix(strings.TrimPrefix(name, "/"), helperPrefix)
}
