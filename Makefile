# Holdfast. `make help` lists what there is.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

export HOLDFAST_TOOLS ?= $(CURDIR)/.tools
GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(HOLDFAST_TOOLS)/bin/golangci-lint-$(GOLANGCI_VERSION)
BIN := bin/holdfast
PORT ?= 8088

include infra/sam/build.mk

.PHONY: help
help: ## List these targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: $(BIN) ## Build the command bin/holdfast

.PHONY: $(BIN)
$(BIN):
	go build -trimpath -o $@ ./infra/cmd/holdfast

.PHONY: demo
demo: build ## Set everything up, run a real flash sale with a crowd, and prove that nothing was lost or sold twice
	$(BIN) demo

.PHONY: up
up: build ## Run the local stack in the foreground, on PORT (8088)
	$(BIN) up --port $(PORT)

.PHONY: test
test: servers tools lint ## Set everything up, then run every test, the linters and validate
	$(BIN) servers -- go test -timeout 15m -p 2 ./...
	./infra/sam/validate.sh
	./infra/sam/local-invoke.sh --if-docker

.PHONY: check
check: servers ## The fast part: formatting, vet, and the short tests of shared, lua, migrations and layout
	@test -z "$$(gofmt -l functions shared lua infra)" || { echo "run gofmt -w on:"; gofmt -l functions shared lua infra; exit 1; }
	go vet ./...
	$(BIN) servers -- go test -short -timeout 3m -p 2 ./shared/... ./lua/... ./infra/layout/... ./infra/mysql/...

.PHONY: servers
servers: build # Redis and MariaDB, installed where they are missing
	$(BIN) install

.PHONY: tools
tools: # the Python tools that tests compare against
	./infra/sam/tools.sh
	sh infra/local/sqs/moto.sh

.PHONY: lint
lint: $(GOLANGCI) ## Format check, go vet and golangci-lint (staticcheck among its linters)
	go vet ./...
	$(GOLANGCI) run ./...

$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION); the first time takes a few minutes"
	mkdir -p $(@D)
	GOBIN=$(@D) GOFLAGS= go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(@D)/golangci-lint $@

.PHONY: vulncheck
vulncheck: ## Known vulnerabilities in what we call (asks the Go vulnerability database, so it needs the network)
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

.PHONY: validate
validate: ## SAM: sam validate with and without --lint, sam build, and our own assertions on the expanded template
	./infra/sam/validate.sh

.PHONY: local-invoke
local-invoke: servers ## One function through sam local invoke, against a local Redis and MariaDB (needs Docker)
	./infra/sam/local-invoke.sh

.PHONY: bench
bench: build ## Measure; ratios are against a baseline of the same run
	$(BIN) bench

.PHONY: sim
sim: servers ## Play 1 000 seeds of the simulation, and cut every function off at each of its calls (SEEDS=..., SEED=N for one seed alone)
	$(BIN) sim $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),1000))
	$(if $(SEED),,$(BIN) sim --cuts)

.PHONY: drill
drill: servers ## Kill and cut real processes under load for MINUTES (10), then see what mended it and prove the result (SEED=N for other faults, BREATH=90s for rare ones)
	$(BIN) drill --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) $(if $(BREATH),--breath $(BREATH))

.PHONY: soak
soak: servers ## Load for MINUTES (30) with one full reconciliation after the other; nothing is broken, so none may find anything
	$(BIN) drill --calm --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

.PHONY: mutants
mutants: servers ## Plant defects one at a time; the tests must notice each of them
	$(BIN) mutants

.PHONY: clean
clean: ## Remove what was built and the local stack's data
	rm -rf bin dist .aws-sam .holdfast .holdfast-drill
