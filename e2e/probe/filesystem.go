//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// filesystem: where a command can write, and what it can mount.
func filesystem(f findings) {
	f["directories that take a file"] = list(writableDirs())
	f["workspace"] = workspace()
	f["/tmp"] = mountOf("/tmp")
	f["/dev/shm"] = mountOf("/dev/shm")
	f["mounts of a disk"] = list(diskMounts())
	f["Docker's socket"] = "absent"
	for _, name := range []string{"/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"} {
		if _, err := os.Lstat(name); err == nil {
			f["Docker's socket"] = name
		}
	}
	f.try("mount", unix.Mount("none", "/tmp", "tmpfs", 0, ""))
	f.try("mount the root for writing", unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	f.try("unmount", unix.Unmount("/workspace", unix.MNT_DETACH))
	f.try("chroot", unix.Chroot("/tmp"))
	f.try("make a block device", unix.Mknod("/tmp/device", unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0))))
	f.try("make a character device", unix.Mknod("/workspace/device", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
	file := filepath.Join("/workspace", ".probe-file")
	_ = os.WriteFile(file, nil, 0o600)
	f.try("give a file to root", os.Chown(file, 0, 0))
	_ = os.Remove(file)
	_, err := os.OpenFile("/.mcp-sandbox/guest", os.O_WRONLY, 0)
	f.try("overwrite the guest", err)
	f.try("remove the guest", os.Remove("/.mcp-sandbox/guest"))
}

// writableDirs are the directories in which a file can be made; of those that lie
// in another one only the outer.
func writableDirs() (dirs []string) {
	_ = filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		if path == "/proc" || path == "/sys" || path == "/dev/mqueue" {
			return fs.SkipDir // for the first two see kernel; what is in the third are no files
		}
		name := filepath.Join(path, ".probe")
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil
		}
		file.Close()
		os.Remove(name)
		dirs = append(dirs, path)
		return fs.SkipDir
	})
	return dirs
}

// workspace runs where the probe itself lies: that programs run there is seen.
func workspace() string {
	info, err := os.Lstat("/workspace")
	if err != nil {
		return err.Error()
	}
	owner, _ := info.Sys().(*syscall.Stat_t)
	whose := "somebody's"
	if int(owner.Uid) == os.Getuid() && int(owner.Gid) == os.Getgid() {
		whose = "own"
	}
	here, _ := os.Getwd()
	others := 0
	_ = filepath.WalkDir("/workspace", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			others++
		} else if i, err := d.Info(); err == nil && int(i.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
			others++
		}
		return nil
	})
	return fmt.Sprintf("%s directory, commands start in %s, %d files of others", whose, here, others)
}

// mountOf is what matters of the mount at a place: its kind, options and size.
func mountOf(place string) string {
	for _, m := range mounts() {
		if m.at != place {
			continue
		}
		var kept []string
		for _, o := range []string{"nosuid", "nodev", "noexec"} {
			if slices.Contains(m.options, o) {
				kept = append(kept, o)
			}
		}
		var s unix.Statfs_t
		_ = unix.Statfs(place, &s)
		return fmt.Sprintf("%s %s %d bytes", m.kind, strings.Join(kept, ","), int64(s.Blocks)*s.Bsize)
	}
	return "no mount"
}

// diskMounts are the places where something lies that is not of the container: all
// mounts but the root and those that are made of memory.
func diskMounts() (places []string) {
	unreal := []string{"proc", "sysfs", "tmpfs", "devpts", "mqueue", "cgroup", "cgroup2", "devtmpfs"}
	for _, m := range mounts() {
		if m.at != "/" && !slices.Contains(unreal, m.kind) {
			places = append(places, m.at)
		}
	}
	slices.Sort(places)
	return places
}

type mount struct {
	at, kind string
	options  []string
}

func mounts() (all []mount) {
	text, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 3 {
			all = append(all, mount{f[1], f[2], strings.Split(f[3], ",")})
		}
	}
	return all
}
