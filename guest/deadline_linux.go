package guest

import (
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// expiry ends the guest, and so the container, when the sandbox has outlived
// its time and no server has come to remove it.
type expiry struct {
	mu    sync.Mutex
	timer *time.Timer
}

func (e *expiry) set(remaining time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer != nil {
		e.timer.Stop()
	}
	e.timer = time.AfterFunc(remaining, func() { os.Exit(protocol.ExitDeadline) })
}

// deadline serves PathDeadline.
func (g *guest) deadline(w http.ResponseWriter, r *http.Request) error {
	var params protocol.DeadlineParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	g.expiry.set(params.Remaining)
	return answer(w, struct{}{})
}
