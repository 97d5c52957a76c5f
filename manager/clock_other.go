//go:build !linux && !darwin

package manager

import "time"

func sinceBoot() (time.Duration, string) { return sinceStart() }
