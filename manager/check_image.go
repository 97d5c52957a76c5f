package manager

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/distribution/reference"
)

const maxImageLength = 512

// chooseImage is the image of a request, checked, or the server's default,
// which the operator chose and nobody needs to allow.
func (m *Manager) chooseImage(ctx context.Context, asked string) (string, error) {
	if asked == "" {
		return m.defaultImage(ctx)
	}
	return asked, m.checkImage(asked)
}

func (m *Manager) defaultImage(ctx context.Context) (string, error) {
	if m.cfg.DefaultImage != "" {
		return m.cfg.DefaultImage, nil
	}
	has, err := m.backend.HasImage(ctx, BaseImage)
	if err != nil {
		return "", fmt.Errorf("look for base image: %w", err)
	}
	if has {
		return BaseImage, nil
	}
	return FallbackImage, nil
}

func (m *Manager) checkImage(image string) error {
	if len(image) > maxImageLength {
		return invalid("image has %d bytes; allowed are at most %d", len(image), maxImageLength)
	}
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return invalid("image is %q: %v", image, err).
			hint("An image is named like python:3.12-slim or ghcr.io/owner/name:tag.")
	}
	if image == m.cfg.DefaultImage || imageAllowed(m.cfg.AllowedImages, named) {
		return nil
	}
	return &Error{
		Kind: KindForbidden, Message: fmt.Sprintf("image %q is not allowed on this server", image),
		Hint: "Allowed are: " + strings.Join(m.cfg.AllowedImages, ", ") + ". Leave image out for the default.",
	}
}

// imageAllowed matches globs against every way to write the image.
func imageAllowed(globs []string, image reference.Named) bool {
	for _, glob := range globs {
		pattern := globPattern(glob)
		for _, form := range imageForms(image) {
			if pattern.MatchString(form) {
				return true
			}
		}
	}
	return false
}

// imageForms writes an image in short ("python:3.12") and in full
// ("docker.io/library/python:3.12"), with its tag and without. A digest decides
// which image it is and the tag beside it counts for nothing, so then the tag is
// left out: it must not open what only a tag was allowed.
func imageForms(image reference.Named) []string {
	name := reference.TrimNamed(image)
	exact := reference.TagNameOnly(image)
	if digested, ok := image.(reference.Digested); ok {
		if d, err := reference.WithDigest(name, digested.Digest()); err == nil {
			exact = d
		}
	}
	return []string{
		reference.FamiliarString(exact), exact.String(),
		reference.FamiliarName(name), name.String(),
	}
}

// globPattern reads * as any characters, / included, and ? as any one.
func globPattern(glob string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(strings.TrimSpace(glob))
	quoted = strings.ReplaceAll(quoted, `\*`, `.*`)
	quoted = strings.ReplaceAll(quoted, `\?`, `.`)
	return regexp.MustCompile(`^` + quoted + `$`)
}
