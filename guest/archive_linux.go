package guest

import (
	"errors"
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// pack serves PathPack.
func (f *fileCalls) pack(w http.ResponseWriter, r *http.Request) error {
	var params protocol.PackParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	if params.Pause {
		resume, err := f.guest.pause(r.Context())
		if err != nil {
			return err
		}
		defer resume()
	}
	return errors.New("not yet")
}

func (f *fileCalls) unpack(w http.ResponseWriter, r *http.Request) error {
	return errors.New("not yet")
}
