package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcp-sandbox": main})
}

// TestScripts runs the command as a user does, without a Docker daemon.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("DOCKER_HOST", "unix://"+e.WorkDir+"/no-docker.sock")
			e.Setenv("HOME", e.WorkDir+"/home")
			return nil
		},
	})
}
