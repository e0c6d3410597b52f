# The whole of it: `make run` shows stoker at work, `make test` proves it.
# Everything is set up on first use: .venv here, binaries of the control plane in a cache.

PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run test check static unit faults up down bench format reference sbom manual release image image-test lock audit coverage matrix \
  matrix-python clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

run: .venv/ready ## the status page of the manifests in example/, which follows as you edit them; no cluster
	@$(BIN)/python -m tools.run $(ARGS)

test: .venv/ready ## everything: `make check`, then the tests on a real control plane
	@$(MAKE) --no-print-directory check
	$(BIN)/python -m tools.build
	$(BIN)/python -m tools.kubernetes --server oldest
	$(BIN)/python -m tools.browser || [ "$$CI" != true ] # elsewhere the tests in a browser are skipped
	$(BIN)/python -m tools.lanes live

check: .venv/ready ## format, lint, types, layers, unit and golden tests; no cluster, under two minutes
	@$(MAKE) --no-print-directory -j2 static unit

static: .venv/ready
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: .venv/ready
	$(BIN)/python -m tools.lanes unit

faults: .venv/ready ## do harm to the operator for about an hour; ARGS='crash --worlds 4' for less, ARGS=--help for how
	$(BIN)/python -m tools.build
	$(BIN)/python -m tests.faults $(or $(ARGS),all)

matrix: .venv/ready ## the core of the live tests on older versions of Kubernetes; VERSIONS='v1.28.15', or all
	$(BIN)/python -m tools.build etcd kube-apiserver kube-controller-manager kube-scheduler kwok kubectl
	$(BIN)/python -m tools.matrix $(VERSIONS)

matrix-python: .venv/ready ## unit and golden tests on newer versions of Python; wants root and mmdebstrap
	$(BIN)/python -m tools.pythons $(VERSIONS)

up: .venv/ready ## a local control plane with three nodes, the operator, a Prometheus that scrapes, and the page
	@$(BIN)/python -m tools.up

down: .venv/ready ## end what `make up` started
	@$(BIN)/python -m tools.down

bench: .venv/ready ## measure against the machine's own floor
	$(BIN)/python -m bench

format: .venv/ready ## put the code in the house's format
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

reference: .venv/ready ## write docs/reference/ and the definitions of the chart anew
	$(BIN)/python -m tools.reference

sbom: .venv/ready ## write what the image installs as CycloneDX JSON to dist/stoker.cdx.json
	$(BIN)/python -m tools.sbom --output dist/stoker.cdx.json

manual: .venv/ready ## write a manual page for each command to dist/man/
	$(BIN)/python -m tools.manual dist/man

release: .venv/ready ## make a release into dist/: VERSION=1.2.3, KEY=FILE to sign it, DRY=1 to change nothing
	@$(BIN)/python -m tools.release $(or $(VERSION),"") $(if $(KEY),--key $(KEY)) $(if $(DRY),--dry-run)

image: .venv/ready ## write the image as an OCI archive into dist/, made from Debian's packages
	$(BIN)/python -m tools.image

image-test: image ## run what `make image` wrote, on a real control plane
	$(BIN)/python -m tools.build etcd kube-apiserver kube-controller-manager kube-scheduler kwok kubectl
	STOKER_IMAGE=dist $(BIN)/python -m pytest -m live -s tests/live/test_image_archive.py

lock: .venv/ready ## choose the newest dependencies and pin them with hashes; DRY=1 only says which are newer
	$(BIN)/python -m tools.lock $(if $(DRY),--dry-run)

audit: .venv/ready ## ask PyPI whether what is locked has known holes
	$(BIN)/python -m tools.vulnerable

coverage: .venv/ready ## list the lines and branches that no unit test runs; ARGS='-m live tests/live' for live tests
	$(BIN)/python -m tools.covered $(ARGS)

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
