package guest

import "net/http"

func (g *guest) fileRoutes(mux *http.ServeMux) {}
