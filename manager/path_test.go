package manager

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a caller sends is refused, or becomes one normal path that is where
// it must be; and a path that is normal already stays as it is.
func TestPathsProperty(t *testing.T) {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{"/", "/", ".", "..", "a", "workspace", "/workspace", "\x00", "\xff", " ", "...", "-rf", strings.Repeat("n", 256), "proc"}),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		raw := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		clean, err := cleanPath("path", raw)
		if err != nil {
			if KindOf(err) != KindInvalid {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if !path.IsAbs(clean) || path.Clean(clean) != clean || strings.ContainsRune(clean, 0) {
			t.Fatalf("%q became %q", raw, clean)
		}
		if again, err := cleanPath("path", clean); len(clean) <= maxPath && (err != nil || again != clean) {
			t.Fatalf("%q became %q, then %q, %v", raw, clean, again, err)
		}
		inside, err := insidePath("path", raw)
		if (err == nil) != strings.HasPrefix(clean, "/workspace/") || err == nil && inside != clean {
			t.Fatalf("%q is %q: inside gave %q, %v", raw, clean, inside, err)
		}
	})
}
