# The whole of it: `make run` shows stoker at work, `make test` proves it.
# Everything is set up on first use: .venv here, binaries of the control plane in a cache.

PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test check up down bench format reference lock clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

run: .venv/ready ## what the manifests in example/ become, one configuration, and their mistakes; no cluster
	@echo '$$ stoker render example/*.yaml >/dev/null    # the summary alone, without the objects'
	@$(BIN)/stoker render example/*.yaml >/dev/null || [ $$? -eq 1 ]
	@echo; echo '$$ stoker render example/*.yaml --config-only --workload nodes'
	@$(BIN)/stoker render example/*.yaml --config-only --workload nodes --quiet || [ $$? -eq 1 ]
	@echo; echo '$$ stoker lint example/*.yaml'
	@$(BIN)/stoker lint example/*.yaml || [ $$? -eq 1 ]

test: .venv/ready ## everything: `make check`, then the tests on a real control plane
	@$(MAKE) --no-print-directory check
	$(BIN)/python -m tools.build
	$(BIN)/python -m pytest -m live

check: .venv/ready ## format, lint, types, layers, unit and golden tests; no cluster, under two minutes
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not live"

up: .venv/ready ## start a local Kubernetes control plane with three nodes and print its kubeconfig
	@$(BIN)/python -m tools.up

down: .venv/ready ## end what `make up` started
	@$(BIN)/python -m tools.down

bench: .venv/ready ## measure against the machine's own floor
	$(BIN)/python -m bench

format: .venv/ready ## put the code in the house's format
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

reference: .venv/ready ## write docs/reference/ anew from the declarations
	$(BIN)/python -m tools.reference

lock: .venv/ready ## choose the newest dependencies and pin them with hashes
	$(BIN)/python -m tools.lock

clean: ## remove .venv and caches of tools (not the built binaries)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/ready: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'stoker needs Python 3.11 or newer; name one with `make PYTHON=…`'; exit 1; }
	@echo 'Installing the locked dependencies into .venv (once, about a minute) …'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
