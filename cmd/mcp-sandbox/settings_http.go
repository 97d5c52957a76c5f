package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/mcp-sandbox/mcp-sandbox/httpapi"
)

// httpSettings is what can be set of the HTTP server besides [settings].
type httpSettings struct {
	Host           string   `group:"http" form:"host" placeholder:"HOST" default:"127.0.0.1" help:"Address or host name to listen on. 0.0.0.0 and :: are all there are."`
	Port           int64    `group:"http" placeholder:"PORT" default:"8080" min:"0" max:"65535" help:"Port to listen on; 0 is any that is free. Which, is the first line on standard output."`
	APIKeys        string   `name:"api-keys" group:"http" placeholder:"KEYS" help:"Keys that may call, separated by commas, each KEY or NAME:KEY and of at least 16 characters. A name is a namespace: what is made with one of its keys is seen by these only. Prefer the variable or the file: others can read the command line."`
	APIKeysFile    string   `name:"api-keys-file" group:"http" placeholder:"FILE" help:"The same from a file, one a line; # begins a comment. Read again on SIGHUP."`
	InsecureNoAuth bool     `group:"http" help:"Serve without keys, on a loopback address only."`
	TLSCertFile    string   `name:"tls-cert-file" group:"http" placeholder:"FILE" help:"Serve HTTPS with this certificate (PEM, with its chain). Read again on SIGHUP."`
	TLSKeyFile     string   `name:"tls-key-file" group:"http" placeholder:"FILE" help:"The certificate's key."`
	AllowedOrigins []string `group:"http" form:"origins" placeholder:"ORIGINS" help:"Origins of web pages that may call, besides those of this machine, as comma-separated https://example.com."`
}

// keys reads the API keys, and refuses to go without any, unless that was asked
// for and only this machine can call.
func (s *httpSettings) keys(from commandLine) (*httpapi.Keys, error) {
	if _, err := httpapi.NewKeys(s.APIKeys, ""); err != nil {
		return nil, failure{exitUsage, fmt.Errorf("%s: %w", from.name("api-keys"), err)}
	}
	keys, err := httpapi.NewKeys(s.APIKeys, s.APIKeysFile)
	if err != nil {
		return nil, failure{exitUsage, fmt.Errorf("%s: %w", from.name("api-keys-file"), err)}
	}
	switch {
	case keys.Len() > 0:
		return keys, nil
	case !s.InsecureNoAuth:
		return nil, failure{exitUsage, errors.New("there are no API keys: set AGENT_SANDBOX_API_KEYS or AGENT_SANDBOX_API_KEYS_FILE (or, on a loopback address, AGENT_SANDBOX_INSECURE_NO_AUTH=true)")}
	case !httpapi.IsLoopback(s.Host):
		return nil, failure{exitUsage, fmt.Errorf("%s=%.200q: must be a loopback address, as 127.0.0.1, where there are no API keys", from.name("host"), s.Host)}
	}
	return keys, nil
}

// certificate is nil where plain HTTP is to be served.
func (s *httpSettings) certificate(from commandLine) (*certificate, error) {
	switch {
	case s.TLSCertFile == "" && s.TLSKeyFile == "":
		return nil, nil
	case s.TLSKeyFile == "":
		return nil, failure{exitUsage, fmt.Errorf("%s is set, but AGENT_SANDBOX_TLS_KEY_FILE is not", from.name("tls-cert-file"))}
	case s.TLSCertFile == "":
		return nil, failure{exitUsage, fmt.Errorf("%s is set, but AGENT_SANDBOX_TLS_CERT_FILE is not", from.name("tls-key-file"))}
	}
	c := &certificate{cert: s.TLSCertFile, key: s.TLSKeyFile}
	if err := c.reload(); err != nil {
		return nil, failure{exitUsage, fmt.Errorf("%s: %w", from.name("tls-cert-file"), err)}
	}
	return c, nil
}

func (s *httpSettings) listen() (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(s.Host, strconv.FormatInt(s.Port, 10)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}
