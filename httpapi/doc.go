// Package httpapi is the door for programs: the manager's operations as the /v1
// HTTP API, and what every HTTP call has to pass, whoever serves it in the end.
//
// The whole surface is one table (routes.go). It drives the routing, 405 and
// OPTIONS, and the OpenAPI document, so none of them can forget a route. A
// handler is a door, not a room: it decodes (decode.go, query.go), calls the
// manager and renders (render.go). What fails is an error; errors.go has the one
// table from kinds of failure to statuses.
//
// # The way of a request
//
//   - observe.go: a request ID, one line of access log, panics recovered.
//     response.go gives each write a deadline, so that a reader who never reads
//     is dropped; body.go sees to bodies that nobody read to their end.
//   - hosts.go, cors.go: Host and Origin, against DNS rebinding.
//   - auth.go, keys.go: whose call it is ([OwnerFrom]).
//   - inflight.go: how many at a time.
//   - mux.go: the route; or a handler of another package ([Config].Extra), which
//     so gets all of the above.
//
// # What may be logged
//
// Method, route pattern, status, duration, bytes, owner and request ID. Never a
// key, a query, a path in a sandbox or a body.
//
// # Adding a route
//
//   - Request and response: types in package schemas.
//   - A line in the table of routes.go.
//   - A handler of 10 to 20 lines in the file of its group.
//   - A test of its success and of each way it fails; the walk over all routes
//     (auth, methods) takes it in by itself.
//   - go test ./httpapi -update, which writes docs/api.md, and a look at what
//     changed there.
package httpapi
