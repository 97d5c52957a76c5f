package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

const description = `Isolated machines for agents to run code in, with snapshots, rollback and forks.

Every flag is also an environment variable, named beside it; a flag wins. Docker is found as every
Docker client finds it (DOCKER_HOST, DOCKER_TLS_VERIFY, …).

Exit codes: 0 all is well; 1 the command failed, or doctor found a problem; 2 a flag or setting is
wrong; 3 another server holds the data directory. exec, logs -f and shell have the exit code of the
command in the sandbox, 124 when it ran out of time, and 125 when it was not seen to its end.`

var serverGroup = &kong.Group{Key: "server", Title: "Server:"}

var helpGroups = []kong.Group{
	{Key: "servers", Title: "Servers:"},
	{Key: "use", Title: "Sandboxes:"},
	{Key: "more", Title: "More:"},
	*serverGroup,
	{Key: "http", Title: "HTTP:"},
	{Key: "sandboxes", Title: "Sandboxes:"},
	{Key: "limits", Title: "Limits of a sandbox:"},
	{Key: "calls", Title: "Limits of a call:"},
	{Key: "storage", Title: "Storage:"},
	{Key: "logging", Title: "Logging:"},
}

// hideSettings leaves the settings of a server out of the help of commands that
// are one only for want of another. They count all the same.
func hideSettings(k *kong.Kong) error {
	for _, command := range k.Model.Children {
		if command.Group == nil || command.Group.Key != "use" {
			continue
		}
		for _, f := range command.Flags {
			switch {
			case f.Name == "data-dir":
				f.Group = serverGroup
			case f.Group != nil && f.Group.Key != "server":
				f.Hidden = true
			}
		}
	}
	return nil
}

// describe is a flag's line in --help: what it is, what it is by default, what
// is allowed, and its variable.
func describe(v *kong.Value) string {
	if v.Flag == nil || v.Flag.Group == nil {
		return v.Help
	}
	notes := []string{envName(v.Name)}
	if v.Default != "" {
		notes = append(notes, "default "+v.Default)
	}
	if limits := shortAllowed(v); limits != "" {
		notes = append(notes, limits)
	}
	return fmt.Sprintf("%s [%s]", v.Help, strings.Join(notes, "; "))
}

func shortAllowed(v *kong.Value) string {
	switch {
	case v.Tag.Has("min"):
		return v.Tag.Get("min") + " to " + v.Tag.Get("max")
	case v.Tag.Has("oneof"):
		return strings.ReplaceAll(v.Tag.Get("oneof"), ",", ", ")
	}
	return ""
}

// allowed ends the sentence "must be …".
func allowed(v *kong.Value) string {
	kind := v.Target.Type()
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case spans[v.Tag.Type] != "":
		return spans[v.Tag.Type]
	case kind.Kind() == reflect.Bool:
		return "true or false"
	case v.Tag.Has("oneof"):
		return "one of " + shortAllowed(v)
	case v.Tag.Has("form"):
		return forms[v.Tag.Get("form")].allowed
	case kind.Kind() == reflect.Int64:
		return "a whole number from " + shortAllowed(v)
	case kind.Kind() == reflect.Float64:
		return "a number from " + shortAllowed(v)
	}
	return "text"
}
