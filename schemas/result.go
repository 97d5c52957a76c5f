package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Result is v as JSON for an MCP result, which leaves out what REST shows as
// null: the schema would need a union to allow it, and several clients refuse
// every tool of a server that has one.
func Result(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := copyValue(&out, d); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return out.Bytes(), nil
}

// copyValue copies one value, without null members of objects, in order.
func copyValue(out *bytes.Buffer, d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return copyMembers(out, d)
	case json.Delim('['):
		return copyElements(out, d)
	}
	return write(out, token)
}

func copyMembers(out *bytes.Buffer, d *json.Decoder) error {
	out.WriteByte('{')
	for empty := true; d.More(); {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value bytes.Buffer
		if err := copyValue(&value, d); err != nil {
			return err
		}
		if value.String() == "null" {
			continue
		}
		if !empty {
			out.WriteByte(',')
		}
		empty = false
		if err := write(out, name); err != nil {
			return err
		}
		out.WriteByte(':')
		out.Write(value.Bytes())
	}
	out.WriteByte('}')
	_, err := d.Token()
	return err
}

func copyElements(out *bytes.Buffer, d *json.Decoder) error {
	out.WriteByte('[')
	for i := 0; d.More(); i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := copyValue(out, d); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	_, err := d.Token()
	return err
}

func write(out *bytes.Buffer, v any) error {
	b, err := json.Marshal(v)
	out.Write(b)
	return err
}
