package dockerbackend

import (
	"strings"
	"testing"
)

func TestParseUser(t *testing.T) {
	if u, err := parseUser("1000:2000"); err != nil || u.String() != "1000:2000" {
		t.Errorf("got %v, %v", u, err)
	}
	if u, err := parseUser("1000"); err != nil || u.String() != "1000:1000" {
		t.Errorf("got %v, %v", u, err)
	}
	for _, bad := range []string{"", "0", "0:0", "1000:0", "root", "1000:", ":1000", "-1:5", "1:2:3", "99999999999"} {
		if u, err := parseUser(bad); err == nil {
			t.Errorf("%q: %v", bad, u)
		}
	}
}

func TestParseKey(t *testing.T) {
	if _, err := parseKey(randomHex(32)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", randomHex(31), randomHex(33), strings.Repeat("x", 64)} {
		if _, err := parseKey(bad); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}
