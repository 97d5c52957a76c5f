package schemas

import (
	"slices"
	"strings"
)

// otherNames are what models call fields of ours, after other tools that they
// know. In each the first that a request has is meant.
var otherNames = map[string][]string{
	"cmd": {"command"}, "script": {"command"}, "code": {"command"}, "bash": {"command"}, "shell": {"command"}, "commandline": {"command"},
	"args": {"argv"}, "arguments": {"argv"},
	"timeout": {"timeout_seconds"}, "timeoutms": {"timeout_seconds"}, "ttl": {"timeout_seconds"}, "ttlseconds": {"timeout_seconds"}, "lifetime": {"timeout_seconds"},
	"wait": {"wait_seconds"}, "waitms": {"wait_seconds"}, "yieldtimems": {"wait_seconds"},
	"cwd": {"workdir"}, "dir": {"workdir", "path"}, "directory": {"workdir", "path"}, "workingdirectory": {"workdir"}, "workingdir": {"workdir"},
	"file": {"path"}, "filename": {"path"}, "filepath": {"path"}, "folder": {"path"},
	"text": {"content", "input"}, "contents": {"content"}, "data": {"content", "input"}, "body": {"content"}, "filetext": {"content"}, "chars": {"input"},
	"oldstring": {"old_text"}, "oldstr": {"old_text"}, "search": {"old_text"}, "find": {"old_text"},
	"newstring": {"new_text"}, "newstr": {"new_text"}, "replace": {"new_text"}, "replacement": {"new_text"},
	"sandbox": {"sandbox_id"}, "id": {"sandbox_id", "snapshot_id"}, "sessionid": {"sandbox_id"}, "containerid": {"sandbox_id"}, "machineid": {"sandbox_id"},
	"snapshot": {"snapshot_id"}, "snap": {"snapshot_id"},
	"exec": {"exec_id"}, "job": {"exec_id"}, "jobid": {"exec_id"}, "pid": {"exec_id"}, "processid": {"exec_id"},
	"environment": {"env"}, "envvars": {"env"}, "mem": {"memory_mb"}, "memory": {"memory_mb"}, "cpu": {"cpus"}, "internet": {"network"},
	"startline": {"offset"}, "line": {"offset"}, "start": {"offset"}, "lines": {"limit"}, "maxlines": {"limit"}, "head": {"limit"},
	"maxoutput": {"max_output_bytes"}, "maxbytes": {"max_output_bytes"}, "permissions": {"mode"}, "chmod": {"mode"},
	"n": {"count"}, "copies": {"count"}, "number": {"count"}, "stdin": {"input"}, "eof": {"end"}, "all": {"replace_all"}, "nextcursor": {"cursor"},
	"runinbackground": {"background"}, "detach": {"background"}, "async": {"background"},
}

// meant is the one of names that a caller most likely meant; "" when nobody can
// tell.
func meant(name string, names []string) string {
	plain := plainName(name)
	for _, known := range names {
		if plainName(known) == plain {
			return known
		}
	}
	for _, known := range otherNames[plain] {
		if slices.Contains(names, known) {
			return known
		}
	}
	for _, known := range names {
		if len(plain) > 3 && oneEditApart(plainName(known), plain) {
			return known
		}
	}
	return ""
}

// plainName takes sandboxId, Sandbox-ID and sandbox_id for one.
func plainName(s string) string {
	if len(s) > 64 {
		return ""
	}
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// oneEditApart: one letter more, one less, another one, or two that changed places.
func oneEditApart(a, b string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a)+len(b) == 1 || len(a) == 1 && len(b) == 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
