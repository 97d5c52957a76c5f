package tools

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
