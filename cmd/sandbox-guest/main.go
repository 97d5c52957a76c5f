// Command sandbox-guest is PID 1 of every sandbox; see package guest.
package main

import "github.com/mcp-sandbox/mcp-sandbox/guest"

func main() { guest.Main() }
