//go:build !faults

package faults

// Point is a moment at which the server may die, by its name in [Points].
func Point(string) {}
