package tools

import "encoding/base64"

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
	if err := exactlyOne("path", text != "", "path_base64", encoded != ""); err != nil || text != "" {
		return text, err
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", invalid("path_base64", "must be standard base64: %v", err)
	}
	return string(b), nil
}
