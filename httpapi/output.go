package httpapi

import (
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// output turns a command's bytes into events.
type output struct {
	to     *eventStream
	base64 bool
	texts  map[schemas.Stream]*manager.TextDecoder
}

func newOutput(to *eventStream, e schemas.Encoding) *output {
	return &output{to: to, base64: e == schemas.EncodingBase64, texts: map[schemas.Stream]*manager.TextDecoder{
		schemas.Stdout: manager.NewTextDecoder(),
		schemas.Stderr: manager.NewTextDecoder(),
	}}
}

// emit sends a chunk. As text, a character that is not complete waits for the
// next one.
func (o *output) emit(s schemas.Stream, chunk []byte) error {
	if o.base64 {
		return o.to.sendOutput(s, chunk, schemas.EncodingBase64)
	}
	return o.text(s, o.texts[s].DecodeBytes(chunk))
}

// flush sends what still waits.
func (o *output) flush() error {
	for _, s := range []schemas.Stream{schemas.Stdout, schemas.Stderr} {
		if err := o.text(s, []byte(o.texts[s].Flush())); err != nil {
			return err
		}
	}
	return nil
}

func (o *output) text(s schemas.Stream, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	return o.to.sendOutput(s, text, schemas.EncodingUTF8)
}
