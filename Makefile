# Everything a developer runs. `make` alone lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# The flags of `go test`: make test TESTFLAGS='-run TestRollback -v'
TESTFLAGS ?=

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: guest ## build bin/mcp-sandbox
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.release=$(VERSION)' -o bin/mcp-sandbox ./cmd/mcp-sandbox

.PHONY: check
check: guest ## formatting, vet, staticcheck, layers, generated files, other systems (no Docker)
	@files=$$(gofmt -l .); [ -z "$$files" ] || { echo "not formatted (run gofmt -w):"; echo "$$files"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go vet -tags faults ./manager/faults ./cmd/mcp-sandbox
	go tool staticcheck -tags faults ./manager/faults
	go vet -tags conformance ./cmd/mcp-sandbox/... ./e2e/conformance
	go tool staticcheck -tags conformance ./cmd/mcp-sandbox/internal/conformance ./e2e/conformance
	go test -short -run 'TestLayers|TestGuaranteesHaveTests|TestPagesNameTests|TestSecurityPage' ./e2e
	scripts/check-generated
	scripts/check-reproducible
	GOOS=darwin go build -o /dev/null ./cmd/mcp-sandbox
	GOOS=windows go build -o /dev/null ./cmd/mcp-sandbox
	@! command -v shellcheck >/dev/null || { set -x; shellcheck scripts/* .ci/run; }

.PHONY: test
test: guest setup ## all tests: unit, conformance and end to end, on a real Docker daemon
	go test -timeout 26m $(TESTFLAGS) ./...

.PHONY: test-short
test-short: guest ## the tests that need no Docker
	go test -short -timeout 5m $(TESTFLAGS) ./...

.PHONY: race
race: guest ## the same under the race detector
	@scripts/need gcc
	go test -race -short -timeout 10m $(TESTFLAGS) ./...

.PHONY: conformance
conformance: guest setup e2e/conformance/node_modules ## the official MCP suite, and clients that others wrote: docs/mcp-conformance.md
	go test -tags conformance -count 1 -timeout 8m $(TESTFLAGS) ./e2e/conformance

# Exactly what the lock file says, from whichever registry npm is configured for.
e2e/conformance/node_modules: e2e/conformance/package-lock.json
	@scripts/need node npm
	cd $(@D) && npm ci --no-progress --loglevel=error
	@touch $@

.PHONY: demo
demo: build base ## an agent's session from start to end: run, break, roll back, fork
	go run ./e2e/demo -server bin/mcp-sandbox

.PHONY: bench
bench: build setup ## measure against Docker's own calls, in turn; figures to bin/bench.json: docs/performance.md
	go run ./e2e/bench -server bin/mcp-sandbox -json bin/bench.json

.PHONY: load
load: build setup ## a server under load and nonsense, in under three minutes: docs/load.md
	go run ./e2e/load -server bin/mcp-sandbox

COUNTS ?= -full

.PHONY: field
field: guest setup ## every case of docs/field-cases.md in full (hours; COUNTS= for small counts), with results into it
	{ go test -json -count 1 -timeout 0 $$(go list ./... | grep -v /e2e$$); go test -json -count 1 -timeout 0 ./e2e $(COUNTS); } | go run ./e2e/field docs/field-cases.md

DURATION ?= 1h

.PHONY: soak
soak: guest setup ## random work for DURATION (1h), with checks: nothing lost, nothing left, nothing grown
	go test ./e2e -run '^TestSoak$$' -count 1 -v -timeout 0 -soak $(DURATION) $(TESTFLAGS)

FUZZTIME ?= 30s

.PHONY: fuzz
fuzz: guest ## every fuzz target for FUZZTIME (30s) each, one after the other
	scripts/fuzz $(FUZZTIME)

.PHONY: run
run: build base ## serve HTTP on loopback with a fresh key, and say how to call it
	@exec scripts/run

.PHONY: sbom
sbom: toolchain ## what is shipped, as a bill of materials: bin/sbom.json (CycloneDX)
	@mkdir -p bin
	go run ./supplychain -sbom bin/sbom.json -version $(VERSION)

.PHONY: image
image: ## the server itself as a Docker image, mcp-sandbox/server:latest
	@scripts/server-image

.PHONY: setup
setup: base ## Docker, the default image and the test images, each only if missing
	@scripts/test-images

.PHONY: clean
clean: ## remove what was built (images stay)
	rm -rf bin dockerbackend/guestbin/guest-* e2e/conformance/node_modules

.PHONY: base
base:
	@scripts/ensure-docker
	@scripts/base-image

# The guest binary of each architecture, which dockerbackend embeds.
.PHONY: guest
guest: toolchain
	@go generate ./dockerbackend

.PHONY: toolchain
toolchain:
	@scripts/need go git
