package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// completes gives what the last of the words may become.
func (u *user) completes(words ...string) (all []string) {
	u.t.Helper()
	o := u.run(append([]string{"__complete", "fish"}, words...)...)
	if o.code != 0 || o.stderr != "" {
		u.t.Errorf("%q: code %d, %q", words, o.code, o.stderr)
	}
	for line := range strings.Lines(o.stdout) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, word)
	}
	return all
}

func TestComplete(t *testing.T) {
	u := newUser(t)
	web, odd := u.run("create", "--name=web").id(), u.run("create", "--name=an odd: name").id()
	snap := u.run("snapshot", web, "--name=before").id()
	job := strings.TrimSuffix(u.run("exec", "-d", web, "sleep 60").stdout, "\n")
	for _, c := range []struct {
		line string
		want []string
	}{
		{"ro", []string{"rollback"}},
		{"__", nil},
		{"nonsense ", nil},
		{"ls --s", []string{"--snapshots"}},
		{"create --ma", nil},
		{"exec --d", []string{"--detach", "--data-dir"}},
		{"ls -o ", []string{"text", "json"}},
		{"ls -qo j", []string{"json"}},
		{"ls --output=j", []string{"--output=json"}},
		{"ls --of w", []string{"web"}},
		{"completion ", []string{"bash", "zsh", "fish"}},
		{"setup ", []string{"claude-code", "claude-desktop", "cursor", "vscode"}},
		{"setup cursor --w", []string{"--write"}},
		{"exec ", []string{web, "web", odd}},
		{"exec -w d -i w", []string{"web"}},
		{"exec web ", nil},
		{"exec web ls --", nil},
		{"exec web -- ls ", nil},
		{"rollback web ", []string{snap, "before"}},
		{"rm web b", []string{"before"}},
		{"rm ", []string{web, "web", odd, snap, "before"}},
		{"cp we", []string{"web:"}},
		{"cp file ", []string{web + ":", "web:", odd + ":"}},
		{"cp web:", []string{"web:"}},
		{"cp web:d/", nil},
		{"logs web ", []string{job}},
		{"kill web " + job[:5], []string{job}},
		{"logs none ", nil},
	} {
		words := strings.Split(c.line, " ")
		if got := u.completes(words...); !slices.Equal(got, c.want) {
			t.Errorf("%q becomes %q; want %q", c.line, got, c.want)
		}
	}
}

// A completion is quick and silent when there is no server, and starts none.
func TestCompleteWithoutAServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for name, env := range map[string]map[string]string{
		"none":        {"AGENT_SANDBOX_DATA_DIR": dir},
		"bad url":     {"AGENT_SANDBOX_URL": "::"},
		"unreachable": {"AGENT_SANDBOX_URL": "http://127.0.0.1:1"},
		"bad setting": {"AGENT_SANDBOX_DATA_DIR": dir, "AGENT_SANDBOX_MAX_SANDBOXES": "x"},
		"no home":     {},
	} {
		u := &user{t: t, env: env}
		begun := time.Now()
		if got := u.completes("exec", ""); got != nil || time.Since(begun) > 10*time.Second {
			t.Errorf("%s: %q in %v", name, got, time.Since(begun))
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it made the data directory: %v", err)
	}
}

// The scripts are understood by their shells, as far as these are here, and
// complete in the place where they are asked.
func TestCompletionScripts(t *testing.T) {
	u := newUser(t)
	web := u.run("create", "--name=web").id()
	bin := filepath.Join(t.TempDir(), "mcp-sandbox")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, bin); err != nil { // testscript.Main is the command by this name
		t.Fatal(err)
	}
	bash := func(line string) string {
		return `source <(mcp-sandbox completion bash); COMP_LINE='` + line + `'; COMP_POINT=${#COMP_LINE}; _mcp_sandbox mcp-sandbox; printf '%s\n' "${COMPREPLY[@]}"`
	}
	fish := func(line string) string { return `mcp-sandbox completion fish | source; complete -C '` + line + `'` }
	for _, c := range []struct{ shell, script, want string }{
		{"bash", bash("mcp-sandbox rollb"), "rollback"},
		{"bash", bash("mcp-sandbox ls --output=j"), "json"},
		{"bash", bash("mcp-sandbox exec w"), "web"},
		{"bash", bash(`mcp-sandbox cp "a b" we`), "web:"},
		{"bash", bash("mcp-sandbox exec " + web + " -- l"), ""},
		{"fish", fish("mcp-sandbox rollb"), "rollback\tPut a sandbox back to a snapshot."},
		{"fish", fish("mcp-sandbox exec we"), "web\t" + web},
		{"zsh", "autoload -U compinit; compinit -D; source <(mcp-sandbox completion zsh); whence -w _mcp_sandbox; print ${_comps[mcp-sandbox]}", "_mcp_sandbox: function\n_mcp_sandbox"},
	} {
		shell, err := exec.LookPath(c.shell)
		if err != nil {
			continue
		}
		cmd := exec.Command(shell, "-c", c.script)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
		for name, value := range u.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSuffix(string(out), "\n"); got != c.want || err != nil {
			t.Errorf("%s -c %q: %q, %v; want %q", c.shell, c.script, got, err, c.want)
		}
	}
}
