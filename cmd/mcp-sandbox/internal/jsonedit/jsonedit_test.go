package jsonedit

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSet(t *testing.T) {
	for _, c := range []struct{ name, in, path, want string }{
		{"nothing", "", "a.b", "{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  }\n}\n"},
		{"an empty object", "{}", "a", "{\n  \"a\": [\n    1\n  ]\n}"},
		{"beside others", "{\n\t\"z\": 1.50,\n\t\"y\": {\"k\": 12345678901234567890}\n}\n", "a", "{\n\t\"z\": 1.50,\n\t\"y\": {\"k\": 12345678901234567890},\n\t\"a\": [\n\t\t1\n\t]\n}\n"},
		{"in an object", `{"a": {"x": 1}, "z": 2}`, "a.b", "{\"a\": {\"x\": 1,\n    \"b\": [\n      1\n    ]\n  }, \"z\": 2}"},
		{"in place of another", "{\n    \"a\": {\"b\": \"old\", \"c\": 3}\n}", "a.b", "{\n    \"a\": {\"b\": [\n            1\n        ], \"c\": 3}\n}"},
		{"an escaped name", `{"\u0061":{"b":0}}`, "a.b", "{\"\\u0061\":{\"b\":[\n      1\n    ]}}"},
		{"braces in texts", `{"x":"}{","a":{"y":"\"}"}}`, "a.b", "{\"x\":\"}{\",\"a\":{\"y\":\"\\\"}\",\n    \"b\": [\n      1\n    ]\n  }}"},
		{"line ends of Windows", "{\r\n  \"x\": 1\r\n}\r\n", "a", "{\r\n  \"x\": 1,\n  \"a\": [\n    1\n  ]\n}\r\n"},
	} {
		got, err := Set([]byte(c.in), strings.Split(c.path, "."), []int{1})
		if d := cmp.Diff(c.want, string(got)); err != nil || d != "" {
			t.Errorf("%s: %v %s", c.name, err, d)
		}
	}
	for in, want := range map[string]string{
		"[]": "it is not a JSON object", "null": "it is not a JSON object", "{": "it is not plain JSON: line 1: ", "{\n// why\n}": "it is not plain JSON: line 2: ",
		`{"a":1,}`: "it is not plain JSON", `{} {}`: "it is not plain JSON", `{"a":[]}`: "a is not an object", `{"a":null}`: "a is not an object", `{"a":{},"a":{}}`: "a is there twice",
	} {
		if got, err := Set([]byte(in), []string{"a", "b"}, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %s", in, got, err, want)
		}
	}
}

// What was there is there afterwards, and what was set.
func FuzzSet(f *testing.F) {
	for _, s := range []string{`{"a":{"b":1},"c":[{"a":2}]}`, "{ }", `{"a":{}}`, "{\"x\":\"\\u007d\"}", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Set([]byte(text), []string{"a", "b"}, "new")
		if err != nil {
			return
		}
		var before, after map[string]any
		if text = strings.TrimSpace(text); text != "" {
			_ = json.Unmarshal([]byte(text), &before)
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		if before == nil {
			before = map[string]any{}
		}
		inner, _ := before["a"].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			before["a"] = inner
		}
		inner["b"] = "new"
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q", text, got)
		}
		var read string
		if ok, err := Get(got, []string{"a", "b"}, &read); !ok || err != nil || read != "new" {
			t.Errorf("read %q, %t, %v", read, ok, err)
		}
	})
}
