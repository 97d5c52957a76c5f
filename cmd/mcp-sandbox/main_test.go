package main

import (
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcp-sandbox": main})
}

// TestScripts runs the command as a user does, without a Docker daemon.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await": func(ts *testscript.TestScript, _ bool, args []string) { await(ts, ts.MkAbs(args[0])) },
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("DOCKER_HOST", "unix://"+e.WorkDir+"/no-docker.sock")
			e.Setenv("HOME", e.WorkDir+"/home")
			return nil
		},
	})
}

// await waits for a file that a command in the background makes.
func await(ts *testscript.TestScript, path string) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no %s", path)
		}
	}
}
