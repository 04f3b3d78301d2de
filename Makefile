# Every recipe runs under Node 26 or newer (scripts/with-node); nothing but Node 20 with npm has to be there before.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help install isolation up demo check test test-gvisor test-differential bench format clean
node := ./scripts/with-node
# REPORT=file.json: write Vitest's results there too
reporters = $(if $(REPORT),--reporter=default --reporter=json --outputFile=$(REPORT))

help: ## list these targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: node_modules/.package-lock.json ## install the pinned packages (done by the others when needed)

isolation: ## install bubblewrap where nothing can hold a sandbox and root may (done by the others when needed)
	@./scripts/ensure-bubblewrap

node_modules/.package-lock.json: package-lock.json
	@echo "installing packages (once)" >&2
	@$(node) npm ci --ignore-scripts --silent
	@touch $@

up: install isolation ## run registry, fetch, sandbox and operator here; Ctrl-C stops them
	@$(node) node cli/main.ts up $(ARGS)

demo: install isolation ## find both servers through the registry, fetch a page, run a program in the sandbox
	@$(node) node cli/main.ts demo $(ARGS)

check: install ## types, lint, format, unit tests: seconds
	@$(node) npm run -s check

test: install isolation ## every test that needs no cluster: unit, real processes, real clients, conformance
	@$(node) npm run -s test -- $(reporters)

test-gvisor: install ## the sandbox tests under gVisor, built from its Go module where runsc is missing (Go; minutes, once)
	@RUNSC=$$(./scripts/ensure-runsc) SANDBOX_ISOLATION=gvisor $(node) npx vitest run --project system test/sandbox $(reporters)

test-differential: install ## the embedded registry against the official one, which is built and run here with a PostgreSQL of its own (Go; minutes, once)
	@$(node) npx vitest run --config test/differential/vitest.config.ts $(or $(reporters),--reporter=verbose)

bench: install isolation ## measure it beside its peers, in turns; minutes; ARGS="--only NAME" for one part, ARGS=--help for the list
	@$(node) node bench/main.ts $(ARGS)

format: install ## rewrite the code in the project's format
	@$(node) npm run -s format

docs: install ## write anew what is generated in docs/: settings, differences from the official registry
	@$(node) npm run -s docs

clean: ## remove what running and testing left in this checkout
	@rm -rf .toolyard node_modules .tools
