package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// commandLine is the arguments, kept so that a message can name what the user
// has to change.
type commandLine []string

// name is the flag where the user gave one, else the variable.
func (c commandLine) name(flag string) string {
	for _, arg := range c {
		if arg == "--"+flag || strings.HasPrefix(arg, "--"+flag+"=") {
			return "--" + flag
		}
	}
	return envName(flag)
}

// envName is the environment variable of a flag.
func envName(flag string) string {
	return "AGENT_SANDBOX_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment gives kong the variable of every flag that is not on the
// command line. An empty variable counts as not set: clients that keep a server's
// environment in a form tend to send all of it.
func (e *env) fromEnvironment() kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		value, ok := e.lookup(envName(flag.Name))
		if !ok || value == "" || flag.Group == nil {
			return nil, nil
		}
		return value, nil
	})
}

// checkDefaults refuses a default that no sandbox could be made with.
func (s *settings) checkDefaults(from commandLine) error {
	pairs := []struct {
		what     string
		def, max float64
	}{
		{"timeout-seconds", float64(s.DefaultTimeoutSeconds), float64(s.MaxTimeoutSeconds)},
		{"cpus", s.DefaultCPUs, s.MaxCPUs},
		{"memory-mb", float64(s.DefaultMemoryMB), float64(s.MaxMemoryMB)},
		{"pids-limit", float64(s.DefaultPidsLimit), float64(s.MaxPidsLimit)},
		{"exec-timeout-seconds", s.DefaultExecTimeoutSeconds, s.MaxExecTimeoutSeconds},
	}
	for _, p := range pairs {
		if p.def > p.max {
			return fmt.Errorf("%s=%v: must be at most %s=%v",
				from.name("default-"+p.what), p.def, from.name("max-"+p.what), p.max)
		}
	}
	return nil
}
