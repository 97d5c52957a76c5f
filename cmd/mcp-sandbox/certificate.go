package main

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"
)

// certificate is the server's own, from files that may be renewed while it runs.
type certificate struct {
	cert, key string
	current   atomic.Pointer[tls.Certificate]
}

// reload reads the files again. After an error the certificate is what it was.
func (c *certificate) reload() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("load certificate: %w", err)
	}
	c.current.Store(&pair)
	return nil
}

// config is for a server: every connection gets the certificate of its time.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}
