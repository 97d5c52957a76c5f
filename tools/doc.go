// Package tools is the door for language models: the manager's operations as MCP
// tools, and MCP over standard input and output, streamable HTTP and SSE.
//
// A model sees nothing of a tool but its name, title, description, schemas and
// results, so these are the user interface, and tests freeze them. A handler is
// a door, not a room: it gets decoded arguments, calls the manager, and says
// what came of it. What all of them need is done once around them ([define]):
//
//   - Arguments are decoded strictly; mistakes name the field.
//   - A call that cannot be done is a result with isError, whose text has code,
//     message and hint, so that the model can act on it. A command that exits
//     with 3 was done: that is an ordinary result. JSON-RPC errors are left to
//     requests that no model wrote.
//   - structuredContent holds everything that matters, because some clients
//     show their model nothing else; text says it again, for those that show
//     only text. Both together stay below what clients cut off (limits.go).
//   - A panic is logged and answered as internal_error.
//
// The transport puts two things into the context of a call: whose call it is
// ([WithOwner]; without it every call fails) and how to send notifications that
// the response cannot overtake ([WithNotifier]).
//
// What descriptions and instructions say of defaults and limits follows the
// server's settings: they are templates (facts.go).
//
// # What is no tool
//
// resources.go and resource_file.go are what clients may attach, prompts.go what
// users may start by name, completions.go what helps to type either. requests.go is
// what these have in common; exchange.go gives their failures, and numbers that
// mcp-go rounds, back to the transport.
//
// # Transports
//
// stdio.go, peer.go and http_sse.go have one stream of messages to a client, and
// share conn.go: every request in a goroutine, known by its ID before the next
// message is taken. peer.go serves the client of another process, in which
// forward.go copies its messages (forward_*.go: what has to be known of them, what
// is told when the server goes, how the next one is found). http_streamable.go has
// a POST for each message; http_sessions.go knows the sessions and their calls, for
// cancels. http_events.go is how all event streams are written: at once, in order,
// and not for ever to a client that does not read. http.go ties them together, and
// has the limits. settle.go sees to it that, in the client too, a response stays
// behind its notifications.
//
// # Adding a tool
//
//   - Arguments and results: types in package schemas; REST names and shapes.
//   - A file named for the tool, with one variable made by [define]: the first
//     sentence of the description says it all, the rest what a model would get
//     wrong; all four hints are decided on purpose.
//   - A line in [all].
//   - A test that calls it with a good, a bad and a missing argument.
//   - go test ./tools -update, and a look at what changed under testdata and in
//     docs/mcp.md.
package tools
