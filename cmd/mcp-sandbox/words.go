package main

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// argumentMappers read what only commands for users have; a field asks for one by
// its type tag.
func argumentMappers() []kong.Option {
	return []kong.Option{
		kong.NamedMapper("words", kong.MapperFunc(decodeWords)),
		kong.NamedMapper("pairs", kong.MapperFunc(decodePair)),
		kong.NamedMapper("lifetime", decoder(parseLifetime)),
		kong.NamedMapper("span", decoder(parseSpan)),
	}
}

// decodeWords takes arguments as they are, up to a flag.
func decodeWords(ctx *kong.DecodeContext, target reflect.Value) error {
	for _, token := range ctx.Scan.PopWhile(kong.Token.IsValue) {
		target.Set(reflect.Append(target, reflect.ValueOf(token.String())))
	}
	return nil
}

var isVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString

// decodePair adds NAME=VALUE, or NAME with the value that it has here.
func decodePair(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("value")
	if err != nil {
		return err
	}
	name, value, given := strings.Cut(token.String(), "=")
	if !isVariable(name) {
		return &badValue{ctx.Value, token.String(), "NAME=VALUE, or the NAME of a variable that is set here"}
	}
	if !given {
		if value, given = os.LookupEnv(name); !given {
			return fmt.Errorf("there is no variable %s here; give NAME=VALUE", name)
		}
	}
	if target.IsNil() {
		target.Set(reflect.ValueOf(map[string]string{}))
	}
	target.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(value))
	return nil
}

// parseSpan reads a duration; a mere number is seconds.
func parseSpan(text string, _ *kong.Tag) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		d := time.Duration(seconds * float64(time.Second))
		return d, seconds > 0 && seconds < 1e9 && d > 0
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}

// parseLifetime reads a duration of whole seconds.
func parseLifetime(text string, tag *kong.Tag) (time.Duration, bool) {
	d, ok := parseSpan(text, tag)
	return d, ok && d%time.Second == 0
}

// spans says what these two take.
var spans = map[string]string{
	"lifetime": "a time of whole seconds, as 90s, 15m or 1h30m",
	"span":     "a time above 0, as 500ms, 90s or 1h30m",
}
