package main

import (
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/dockerbackend"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

// settings is everything that can be set. Kong makes flags of it; the tags min,
// max, oneof and form say what is allowed, and are checked in values.go.
type settings struct {
	DataDir string `group:"storage" placeholder:"DIR" help:"Where records and snapshots are kept. Default: mcp-sandbox in $XDG_STATE_HOME, else in ~/.local/state."`

	DefaultImage  string   `group:"sandboxes" form:"image" placeholder:"IMAGE" help:"Image of a sandbox that names none. Default: mcp-sandbox/base:latest where it exists locally, else python:3.12-slim."`
	AllowedImages []string `group:"sandboxes" form:"globs" placeholder:"GLOBS" default:"*" help:"Images that may be used, as comma-separated globs. The default image is always allowed."`
	SandboxUser   string   `group:"sandboxes" form:"user" placeholder:"UID:GID" default:"1000:1000" help:"User and group that everything in a sandbox runs as."`
	DockerRuntime string   `group:"sandboxes" form:"name" placeholder:"NAME" help:"Docker runtime for sandboxes, as runsc for gVisor. Default: the daemon's."`
	NetworkName   string   `group:"sandboxes" form:"network" placeholder:"NAME" default:"agent-sandbox-net" help:"Docker network of sandboxes that have one; made when it is missing."`
	AllowNetwork  bool     `group:"sandboxes" default:"true" negatable:"" help:"Whether a sandbox may be given a network at all."`

	MaxSandboxes          int64   `group:"limits" placeholder:"N" default:"20" min:"1" max:"10000" help:"Sandboxes that may live at a time, forks included."`
	WarmPool              int64   `group:"limits" placeholder:"N" default:"2" min:"0" max:"100" help:"Spare sandboxes of the default image that are kept ready, so that creating, forking and rolling back is quick; 0 turns that off."`
	DefaultTimeoutSeconds int64   `group:"limits" placeholder:"SECONDS" default:"900" min:"1" max:"31536000" help:"Time to live of a sandbox that asks for none."`
	MaxTimeoutSeconds     int64   `group:"limits" placeholder:"SECONDS" default:"86400" min:"1" max:"31536000" help:"Longest time to live."`
	DefaultCPUs           float64 `name:"default-cpus" group:"limits" placeholder:"CORES" default:"1" min:"0.01" max:"1024" help:"Processor cores of a sandbox that asks for none."`
	MaxCPUs               float64 `name:"max-cpus" group:"limits" placeholder:"CORES" default:"4" min:"0.01" max:"1024" help:"Most cores of one sandbox."`
	DefaultMemoryMB       int64   `name:"default-memory-mb" group:"limits" placeholder:"MIB" default:"512" min:"16" max:"16777216" help:"Memory of a sandbox that asks for none; there is no swap."`
	MaxMemoryMB           int64   `name:"max-memory-mb" group:"limits" placeholder:"MIB" default:"4096" min:"16" max:"16777216" help:"Most memory of one sandbox."`
	DefaultPidsLimit      int64   `group:"limits" placeholder:"N" default:"256" min:"32" max:"4194304" help:"Processes and threads of a sandbox that asks for none."`
	MaxPidsLimit          int64   `group:"limits" placeholder:"N" default:"4096" min:"32" max:"4194304" help:"Most processes and threads of one sandbox."`
	TmpSizeMB             int64   `name:"tmp-size-mb" group:"limits" placeholder:"MIB" default:"256" min:"1" max:"1048576" help:"Size of /tmp in a sandbox; at most half of its memory."`

	DefaultExecTimeoutSeconds float64 `group:"calls" placeholder:"SECONDS" default:"60" min:"0.001" max:"31536000" help:"Time limit of a command that asks for none and cannot go on in the background."`
	MaxExecTimeoutSeconds     float64 `group:"calls" placeholder:"SECONDS" default:"3600" min:"0.001" max:"31536000" help:"Longest time limit of a command that cannot go on in the background; of others it is that of a sandbox."`
	MaxExecOutputBytes        int64   `group:"calls" placeholder:"BYTES" default:"10485760" min:"1" max:"1073741824" help:"Output kept of each stream of a command."`
	MaxFileBytes              int64   `group:"calls" placeholder:"BYTES" default:"52428800" min:"1" max:"1099511627776" help:"Largest file that is read or written by a call."`
	MaxSnapshotBytes          int64   `group:"storage" placeholder:"BYTES" default:"1073741824" min:"10240" max:"17592186044416" help:"Largest snapshot, as an uncompressed tar."`
	ReapIntervalSeconds       float64 `group:"storage" placeholder:"SECONDS" default:"10" min:"0.1" max:"3600" help:"How often expired sandboxes are looked for, besides their timers."`

	LogLevel  string `group:"logging" oneof:"debug,info,warn,error" placeholder:"LEVEL" default:"info" help:"Least level that is logged, to standard error."`
	LogFormat string `group:"logging" oneof:"auto,text,json" placeholder:"FORMAT" default:"auto" help:"How it is logged; auto is text on a terminal and JSON elsewhere."`
}

// complete fills in what depends on the environment and checks what depends on
// more than one setting.
func (s *settings) complete(e *env) error {
	if err := s.checkDefaults(e.args); err != nil {
		return failure{exitUsage, err}
	}
	if s.DataDir == "" {
		s.DataDir = defaultDataDir(e.lookup)
	}
	if s.DataDir == "" {
		return failure{exitUsage, errors.New("AGENT_SANDBOX_DATA_DIR is not set and there is no home directory: set it to a directory of the server's own")}
	}
	dir, err := filepath.Abs(s.DataDir)
	s.DataDir = dir
	return err
}

// defaultDataDir follows the XDG base directory rules, which say that a path
// that is not absolute is to be ignored.
func defaultDataDir(lookup func(string) (string, bool)) string {
	if dir, _ := lookup("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcp-sandbox")
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, _ := lookup(name); filepath.IsAbs(home) {
			return filepath.Join(home, ".local", "state", "mcp-sandbox")
		}
	}
	return ""
}

func (s *settings) managerConfig(log *slog.Logger) manager.Config {
	return manager.Config{
		DataDir:                   s.DataDir,
		DefaultImage:              s.DefaultImage,
		AllowedImages:             s.AllowedImages,
		AllowNetwork:              s.AllowNetwork,
		MaxSandboxes:              int(s.MaxSandboxes),
		WarmPool:                  int(s.WarmPool),
		DefaultTimeoutSeconds:     s.DefaultTimeoutSeconds,
		MaxTimeoutSeconds:         s.MaxTimeoutSeconds,
		DefaultCPUs:               s.DefaultCPUs,
		MaxCPUs:                   s.MaxCPUs,
		DefaultMemoryMB:           s.DefaultMemoryMB,
		MaxMemoryMB:               s.MaxMemoryMB,
		DefaultPidsLimit:          s.DefaultPidsLimit,
		MaxPidsLimit:              s.MaxPidsLimit,
		DefaultExecTimeoutSeconds: s.DefaultExecTimeoutSeconds,
		MaxExecTimeoutSeconds:     s.MaxExecTimeoutSeconds,
		MaxExecOutputBytes:        s.MaxExecOutputBytes,
		MaxFileBytes:              s.MaxFileBytes,
		MaxSnapshotBytes:          s.MaxSnapshotBytes,
		ReapInterval:              time.Duration(s.ReapIntervalSeconds * float64(time.Second)),
		Log:                       log,
	}
}

func (s *settings) backendConfig(instance string, log *slog.Logger) dockerbackend.Config {
	return dockerbackend.Config{
		Instance:    instance,
		SandboxUser: s.SandboxUser,
		Runtime:     s.DockerRuntime,
		NetworkName: s.NetworkName,
		TmpSizeMB:   s.TmpSizeMB,
		Log:         log,
	}
}
