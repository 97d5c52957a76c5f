package httpapi

import (
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// health is the one failure whose body has more than an error: who watches the
// server reads status.
func health(c *call) error {
	h := schemas.Health{Status: "ok", Backend: "docker", Version: c.cfg.Version}
	if c.cfg.Health == nil {
		return c.answer(http.StatusOK, h, nil)
	}
	backend, err := c.cfg.Health(c.ctx())
	if backend != "" {
		h.Backend = backend
	}
	if err == nil {
		return c.answer(http.StatusOK, h, nil)
	}
	e := public(err)
	h.Status, h.Error = "unavailable", &e
	return c.answer(http.StatusServiceUnavailable, h, nil)
}

func live(c *call) error {
	return c.answer(http.StatusOK, schemas.Live{Status: "ok"}, nil)
}

func metrics(c *call) error {
	if c.cfg.Metrics == nil {
		return refuse(schemas.CodeNotFound, "this server has no metrics")
	}
	c.cfg.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

func openAPI(c *call) error {
	writeJSON(c.w, http.StatusOK, c.document)
	return nil
}
