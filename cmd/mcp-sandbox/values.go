package main

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/distribution/reference"

	"github.com/mcp-sandbox/mcp-sandbox/httpapi"
)

// badValue is a setting that is not what it must be.
type badValue struct {
	of             *kong.Value
	value, allowed string
}

func (b *badValue) Error() string {
	return fmt.Sprintf("%s=%q: must be %s", b.of.ShortSummary(), b.value, b.allowed)
}

// name is what the user has to change.
func (b *badValue) name(from commandLine) string {
	if b.of.Flag != nil && b.of.Flag.Group != nil {
		return from.name(b.of.Name)
	}
	return b.of.ShortSummary() // it has no variable
}

// mappers read values in place of kong's own, whose messages name neither the
// variable nor what is allowed.
func mappers() []kong.Option {
	return []kong.Option{
		kong.KindMapper(reflect.Int64, decoder(parseInt)),
		kong.KindMapper(reflect.Float64, decoder(parseFloat)),
		kong.KindMapper(reflect.String, decoder(parseString)),
		kong.KindMapper(reflect.Slice, decoder(parseList)),
		kong.KindMapper(reflect.Bool, boolMapper{}),
	}
}

// decoder makes a mapper of a function that gives the value, or says no.
func decoder[T any](parse func(text string, tag *kong.Tag) (T, bool)) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		token, err := ctx.Scan.PopValue("value")
		if err != nil {
			return errors.New("a value is missing")
		}
		text := token.String()
		value, ok := parse(text, ctx.Value.Tag)
		if !ok {
			return &badValue{ctx.Value, text, allowed(ctx.Value)}
		}
		if target.Kind() == reflect.Pointer { // a named mapper gets it as it is
			target = target.Elem()
		}
		target.Set(reflect.ValueOf(value))
		return nil
	})
}

func parseInt(text string, tag *kong.Tag) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && inBounds(float64(n), tag)
}

func parseFloat(text string, tag *kong.Tag) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && inBounds(n, tag) // not a number is in no bounds
}

func inBounds(n float64, tag *kong.Tag) bool {
	return n >= bound(tag, "min") && n <= bound(tag, "max")
}

func bound(tag *kong.Tag, name string) float64 {
	n, err := strconv.ParseFloat(tag.Get(name), 64)
	if err != nil {
		panic("setting without " + name)
	}
	return n
}

func parseString(text string, tag *kong.Tag) (string, bool) {
	if choices := tag.Get("oneof"); choices != "" {
		return text, slices.Contains(strings.Split(choices, ","), text)
	}
	if f, ok := forms[tag.Get("form")]; ok && text != "" {
		return text, f.ok(text)
	}
	return text, !strings.ContainsRune(text, 0)
}

func parseList(text string, tag *kong.Tag) ([]string, bool) {
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
		if !forms[tag.Get("form")].ok(items[i]) {
			return nil, false
		}
	}
	return items, true
}

// forms are the shapes of text that settings have.
var forms = map[string]struct {
	allowed string
	ok      func(string) bool
}{
	"image":   {"an image reference, as python:3.12-slim", isImage},
	"globs":   {"image references or globs, separated by commas", isGlob},
	"user":    {"UID:GID, two numbers above 0", regexp.MustCompile(`^[1-9]\d{0,8}:[1-9]\d{0,8}$`).MatchString},
	"name":    {"a name of letters, digits, dots, dashes and underscores", isName},
	"url":     {"a URL such as https://sandbox.example.com or http://127.0.0.1:8080", isURL},
	"host":    {"an address or host name without a port", isHost},
	"origins": {"origins like https://example.com, separated by commas", isOrigin},
	"network": {"a name of letters, digits, dots, dashes and underscores, and none of Docker's own networks", isNetwork},
}

var isName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`).MatchString

// isNetwork keeps sandboxes off the networks that other containers are on.
func isNetwork(s string) bool {
	return isName(s) && !slices.Contains([]string{"bridge", "host", "none", "default"}, s)
}

// isHost leaves it to the listener whether there is such a host.
func isHost(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil || isName(s)
}

func isOrigin(s string) bool { return httpapi.CheckOrigin(s) == nil }

func isImage(s string) bool {
	_, err := reference.ParseNormalizedNamed(s)
	return err == nil
}

func isGlob(s string) bool {
	_, err := path.Match(s, "")
	return s != "" && err == nil
}

// boolMapper reads a flag that may stand without a value.
type boolMapper struct{}

// IsBool tells kong that the flag may stand alone.
func (boolMapper) IsBool() bool { return true }

func (boolMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		target.SetBool(true)
		return nil
	}
	text := ctx.Scan.Pop().String()
	value, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		return &badValue{ctx.Value, text, allowed(ctx.Value)}
	}
	target.SetBool(value)
	return nil
}
