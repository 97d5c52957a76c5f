package dockerbackend

import (
	"fmt"
	"strconv"
	"strings"
)

// owner is a numeric user and group: names would need the image's passwd file.
type owner struct{ uid, gid int }

func (o owner) String() string { return fmt.Sprintf("%d:%d", o.uid, o.gid) }

// parseUser reads "uid:gid" or "uid". Root is refused: it would undo half of
// what keeps a sandbox in.
func parseUser(text string) (owner, error) {
	uid, gid, both := strings.Cut(text, ":")
	if !both {
		gid = uid
	}
	u, err := strconv.ParseUint(uid, 10, 31)
	if err != nil || u == 0 {
		return owner{}, fmt.Errorf("parse sandbox user %q: want uid:gid, numbers above 0", text)
	}
	g, err := strconv.ParseUint(gid, 10, 31)
	if err != nil || g == 0 {
		return owner{}, fmt.Errorf("parse sandbox user %q: want uid:gid, numbers above 0", text)
	}
	return owner{int(u), int(g)}, nil
}
