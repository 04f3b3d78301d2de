# Every recipe runs under Node 26 or newer (scripts/with-node); nothing but Node 20 with npm has to be there before.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help install isolation browser up demo check test test-gvisor test-differential test-faults test-kube cluster cluster-down test-cluster test-cluster-sandboxes bench format docs clean
node := ./scripts/with-node
# REPORT=file.json: write Vitest's results there too
reporters = $(if $(REPORT),--reporter=default --reporter=json --outputFile=$(REPORT))

help: ## list these targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-23s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: node_modules/.package-lock.json ## install the pinned packages (done by the others)

isolation: ## install bubblewrap if needed (done by the others)
	@./scripts/ensure-bubblewrap

browser:
	@./scripts/ensure-chromium

node_modules/.package-lock.json: package-lock.json
	@echo "installing packages (once, about half a minute)" >&2
	@$(node) npm ci --ignore-scripts --loglevel=error >/dev/null || { echo "the packages could not be installed: the lines above say why; make install tries again" >&2; exit 1; }
	@touch $@

up: install isolation ## run everything here until Ctrl-C
	@$(node) node cli/main.ts up $(ARGS)

demo: install isolation ## use both servers as a client would, and stop again
	@$(node) node cli/main.ts demo $(ARGS)

check: install ## types, lint, format, unit tests: a minute
	@$(node) npm run -s check

test: install isolation browser ## every test that needs no cluster
	@$(node) npm run -s test -- $(reporters)

test-gvisor: install ## the sandbox tests under gVisor (Go)
	@RUNSC=$$(./scripts/ensure-runsc) SANDBOX_ISOLATION=gvisor $(node) npx vitest run --project system test/sandbox $(reporters)

test-kube: install ## the operator against a real API server (root on Debian, or etcd; Go)
	@./scripts/ensure-cluster-tools >/dev/null
	@$(node) npx vitest run --config test/kube/vitest.config.ts $(or $(reporters),--reporter=verbose)

test-differential: install ## the embedded registry against the official one, then test-faults (Go)
	@$(node) npx vitest run --config test/differential/vitest.config.ts $(or $(reporters),--reporter=verbose)
	@$(MAKE) --no-print-directory test-faults REPORT=$(REPORT:.json=-faults.json)

test-faults: install ## faults in real processes, under both registries (Go)
	@$(node) npx vitest run --config test/faults/vitest.config.ts $(or $(reporters),--reporter=verbose)

test-manifests: install ## the manifests against Helm, an API server, PostgreSQL (Go, Debian)
	@$(node) npx vitest run --config test/manifests/vitest.config.ts $(or $(reporters),--reporter=verbose)

cluster: install ## start a real Kubernetes on this machine, without Docker (root, Linux, Go)
	@$(node) ./test/cluster/up

cluster-down: ## stop it and wipe its state
	@$(node) ./test/cluster/cluster down

test-cluster: install ## the installation against that Kubernetes; starts it first if needed
	@$(node) ./test/cluster/up >/dev/null
	@./scripts/ensure-helm >/dev/null # its modules could not be had in there
	@$(node) ./test/cluster/cluster in npx vitest run --config test/cluster/vitest.config.ts $(reporters)

test-cluster-sandboxes: install ## sandboxes and their claims against it
	@./scripts/ensure-python-packages test/cluster/python/agent-sandbox.txt >/dev/null
	@SANDBOXES=true $(MAKE) --no-print-directory test-cluster REPORT=$(REPORT)

bench: install isolation ## measure it beside its peers; ARGS=--help for more
	@$(node) node bench/main.ts $(ARGS)

format: install ## rewrite the code in the project's format
	@$(node) npm run -s format

docs: install ## write anew what is generated in docs/
	@$(node) npm run -s docs

manifests: install ## write charts/ anew, after a change of cdk8s/ or catalog/
	@$(node) npm run -s manifests

# Kubernetes. apply, wait-ready and logs go to the cluster that KUBECONFIG names; the others are for Docker and kind.
.PHONY: test-manifests manifests deploy tools setup-kind docker-build load-kind apply wait-ready logs clean-all
KIND ?= toolyard
NAMESPACE ?= toolyard
# what apply applies: a directory with a kustomization
OVERLAY ?= kind
TIMEOUT ?= 600
version := $(shell sed -n 's/^  "version": "\(.*\)",/\1/p' package.json)
images := localhost/toolyard:$(version) localhost/toolyard-sandbox:$(version)

deploy: tools setup-kind docker-build load-kind ## everything on kind, with gVisor; ends with addresses and records (Docker)
	@kubectl config use-context kind-$(KIND)
	@$(MAKE) --no-print-directory apply wait-ready

tools: ## the programs that deploy needs, or what is missing
	@command -v docker >/dev/null || { echo "Docker is missing: install it, and start it" >&2; exit 1; }
	@docker info >/dev/null || { echo "Docker does not answer: start it" >&2; exit 1; }
	@command -v kubectl >/dev/null || { echo "kubectl is missing: install it, 1.30 or newer" >&2; exit 1; }
	@./scripts/ensure-kind && ./scripts/ensure-runsc && ./scripts/ensure-runsc-shim

setup-kind: ## make the kind cluster KIND=toolyard, with gVisor and agent-sandbox, unless it is there
	@./kind/setup $(KIND)

docker-build: ## build the images
	@docker build -t $(word 1,$(images)) .
	@docker build -t $(word 2,$(images)) -f Dockerfile.sandbox .

load-kind: ## put the images on the nodes of the kind cluster
	@$$(./scripts/ensure-kind) load docker-image $(images) --name $(KIND)

apply: ## apply OVERLAY=kind, a directory with a kustomization
	@kubectl apply -k $(OVERLAY)

wait-ready: ## wait until all is ready, the pool full and all published, at most TIMEOUT=600 seconds; say how to reach it
	@./scripts/wait-ready $(NAMESPACE) $(TIMEOUT)

logs: ## the newest log lines of every part
	@kubectl -n $(NAMESPACE) logs -l app.kubernetes.io/part-of=toolyard --all-containers --prefix --tail=$(or $(LINES),50)

clean-all: clean ## remove the kind cluster too
	@$$(./scripts/ensure-kind) delete cluster --name $(KIND)

clean: ## remove what running and testing left in this checkout
	@rm -rf .toolyard .vitest node_modules .tools
