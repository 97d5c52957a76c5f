//go:build linux

package archive

import (
	"archive/tar"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	xattrRecord = "SCHILY.xattr." // what GNU tar and others call them in a tar
	userXattr   = "user."
)

// In the key of a PAX record "=" ends it. GNU tar escapes it thus.
var (
	escapeKey   = strings.NewReplacer("%", "%25", "=", "%3D")
	unescapeKey = strings.NewReplacer("%25", "%", "%3D", "=")
)

// addXattrs puts the user.* attributes of fd into a header.
func addXattrs(hdr *tar.Header, fd int) error {
	names, err := listXattrs(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		value, err := getXattr(fd, name)
		if err == unix.ENODATA {
			continue
		}
		if err != nil {
			return err
		}
		if hdr.PAXRecords == nil {
			hdr.PAXRecords = map[string]string{}
		}
		hdr.PAXRecords[xattrRecord+escapeKey.Replace(name)] = value
	}
	return nil
}

func listXattrs(fd int) ([]string, error) {
	text, err := sized(func(p []byte) (int, error) { return unix.Flistxattr(fd, p) })
	if err == unix.EOPNOTSUPP || err == unix.ENOSYS {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(text, "\x00") {
		if strings.HasPrefix(name, userXattr) {
			names = append(names, name)
		}
	}
	return names, err
}

func getXattr(fd int, name string) (string, error) {
	return sized(func(p []byte) (int, error) { return unix.Fgetxattr(fd, name, p) })
}

// sized calls get with nothing to learn the size, and again with a buffer.
func sized(get func([]byte) (int, error)) (string, error) {
	for {
		n, err := get(nil)
		if err != nil || n == 0 {
			return "", err
		}
		buf := make([]byte, n)
		n, err = get(buf)
		if err != unix.ERANGE {
			return string(buf[:max(n, 0)]), err
		}
	}
}

// setXattrs gives fd the user.* attributes of a header, where the file system
// can keep them.
func setXattrs(fd int, hdr *tar.Header) error {
	for key, value := range hdr.PAXRecords {
		name, ok := strings.CutPrefix(key, xattrRecord)
		if !ok || !strings.HasPrefix(name, userXattr) {
			continue
		}
		err := unix.Fsetxattr(fd, unescapeKey.Replace(name), []byte(value), 0)
		switch err {
		case nil, unix.EOPNOTSUPP, unix.ENOSYS:
		case unix.EINVAL, unix.ERANGE:
			return badEntry(hdr.Name, "has an extended attribute whose name is none")
		default:
			return err
		}
	}
	return nil
}

func hasXattrs(hdr *tar.Header) bool {
	for key := range hdr.PAXRecords {
		if strings.HasPrefix(key, xattrRecord+userXattr) {
			return true
		}
	}
	return false
}
