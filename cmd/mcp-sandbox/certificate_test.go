package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/tools"
)

// writeCertificate makes a certificate for 127.0.0.1 of a serial number.
func writeCertificate(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// Over TLS it speaks HTTP/2, and a renewed certificate is used without a restart.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := writeCertificate(t, dir, 1)
	c, err := (&httpSettings{TLSCertFile: cert, TLSKeyFile: key}).certificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	w := newWeb(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }),
		c, tools.NewHTTP(nil, tools.HTTPConfig{Log: log}), nil, log)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := t.Context(), make(chan error, 1)
	go func() { end <- w.serve(ctx, func() {}, l) }()
	t.Cleanup(func() { <-end })

	serial := func() int64 {
		t.Helper()
		tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		defer tr.CloseIdleConnections()
		answer, err := (&http.Client{Transport: tr}).Get(w.url(l.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if b, _ := io.ReadAll(answer.Body); string(b) != "HTTP/2.0" {
			t.Errorf("it speaks %s", b)
		}
		return answer.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	writeCertificate(t, dir, 2)
	if err := c.reload(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cert, []byte("half-written"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.reload() == nil {
		t.Error("a broken certificate was taken")
	}
	if n := serial(); n != 2 {
		t.Errorf("certificate %d", n)
	}
}
