// Command mcp-sandbox gives agents isolated machines to run code in.
//
// main is for exit codes, run for everything else; each subcommand has a file.
// What can be set is the struct [settings]: every field is a flag, and an
// environment variable of the same name with AGENT_SANDBOX_ in front.
//
// Adding a setting:
//   - add a field to settings, with help, group, default, and min/max, oneof or
//     form, whatever bounds it;
//   - a default that has a maximum: add the pair to checkDefaults;
//   - hand it on in managerConfig or backendConfig;
//   - add a line to testdata/script/settings.txtar with a bad value.
package main

import (
	"os"
	"runtime/debug"

	"github.com/mcp-sandbox/mcp-sandbox/guest"
)

func main() {
	// The server's own executable may be the first process of a sandbox. That
	// must cost nothing, and read nothing of the command line.
	if len(os.Args) > 1 && os.Args[1] == "guest" {
		guest.Main()
		return
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // what lives is small, and a server idles most of the time: memory counts, collecting does not
	}
	os.Exit(run(os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
}
