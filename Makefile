# Every target does its own set-up; the second time it is quick.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$p && break; done)
STUDY ?= default
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CHECKED := $(VENV)/.checked
BROWSER := tests/browser/node_modules/.ready

.DEFAULT_GOAL := help
.PHONY: help ablation study smoke test check benchmarks clean

help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

ablation: $(READY) ## Run the default study and write results/default/report.html
	@$(BIN)/boltzmem run study=default

study: $(READY) ## Run any study: make study STUDY=smoke
	@$(BIN)/boltzmem run study=$(STUDY)

smoke: ## Run the study of a few seconds
	@$(MAKE) --no-print-directory study STUDY=smoke

test: $(READY) $(BROWSER) ## Run all tests
	@$(BIN)/pytest

check: $(READY) $(CHECKED) $(BROWSER) ## Check format, lint and types, then run all tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pytest

benchmarks: $(READY) ## Print the figures of benchmarks/
	@$(BIN)/python benchmarks/selection.py
	@$(BIN)/python benchmarks/harness.py
	@$(BIN)/python benchmarks/stores.py

clean: ## Remove the virtual environment
	@rm -rf $(VENV)

# The stamp is renewed when the dependencies or the list of packages change.
$(READY): pyproject.toml Makefile
	@if [ -z "$(PYTHON)" ]; then \
		echo "boltzmem needs Python 3.11 or later: install it, or say make PYTHON=/path/to/python3.11"; exit 1; fi
	@echo "setting up $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV) || { \
		echo "$(PYTHON) cannot make a virtual environment: on Debian and Ubuntu install python3-venv"; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]' || { \
		echo "the packages could not be installed: see the message above; a network or an index of packages is needed"; exit 1; }
	@touch $@

# axe-core, for the tests of the page in a browser; they say so where it is missing.
$(BROWSER): tests/browser/package.json tests/browser/package-lock.json
	@mkdir -p $(@D)
	@if command -v npm >/dev/null 2>&1; then npm ci --prefix tests/browser --silent --no-audit --no-fund && touch $@; \
	else echo "npm is not installed: the tests of the page in a browser will be skipped"; fi

$(CHECKED): $(READY)
	@$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,check]'
	@touch $@
