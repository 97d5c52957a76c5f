package tools

import (
	"encoding/base64"
	"strings"
)

// within is an optional number argument, checked.
func within[N int | int64](field string, value *N, otherwise, least, most N) (N, error) {
	switch {
	case value == nil:
		return otherwise, nil
	case *value < least || *value > most:
		return 0, invalid(field, "must be from %d to %d, got %d", least, most, *value)
	}
	return *value, nil
}

// exactlyOne tells which of two arguments was given.
func exactlyOne(first string, hasFirst bool, second string, hasSecond bool) error {
	switch {
	case hasFirst && hasSecond:
		return invalid(first, "must not be given together with %s", second)
	case !hasFirst && !hasSecond:
		return invalid(first, "is required, unless %s is given", second)
	}
	return nil
}

// pathFrom is the path that a call names as text, or by its exact bytes.
func pathFrom(text, encoded string) (string, error) {
	if err := exactlyOne("path", text != "", "path_base64", encoded != ""); err != nil {
		return "", err
	}
	if text != "" {
		return pathText("path", text)
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", invalid("path_base64", "must be standard base64: %v", err)
	}
	return string(b), nil
}

// pathText takes ~ for the home directory, as a shell does. Where a URI is meant, a
// path would only be found by chance.
func pathText(field, text string) (string, error) {
	switch {
	case text == "~" || strings.HasPrefix(text, "~/"):
		return workspace + text[1:], nil
	case strings.HasPrefix(text, "file://"), strings.HasPrefix(text, resourceStart):
		return "", invalid(field, "must be a path and not a URI, as /workspace/a.txt or a.txt; got %.100q", text)
	}
	return text, nil
}
