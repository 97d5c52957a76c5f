package main

import "testing"

func TestMountOf(t *testing.T) {
	const mounts = `21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 21 7:0 / /data rw shared:5 - ext4 /dev/loop0 rw
31 30 0:25 / /data/tmp rw - tmpfs tmpfs rw
32 30 7:1 / /data rw - xfs /dev/loop1 rw
`
	for path, want := range map[string]mount{
		"/var/lib/docker": {"254:0", "ext4"},
		"/data":           {"7:1", "xfs"},
		"/data/docker":    {"7:1", "xfs"},
		"/database":       {"254:0", "ext4"},
		"/data/tmp/x":     {"0:25", "tmpfs"},
	} {
		if got := mountOf(path, mounts); got != want {
			t.Errorf("%s is on %v, want %v", path, got, want)
		}
	}
}
