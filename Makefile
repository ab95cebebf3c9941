# Needs make and a Python of 3.11 or newer (with venv); everything else is installed into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable
DATA ?= $(HOME)/.recollect
PARTS ?= opensearch dynamodb aws

.DEFAULT_GOAL := help
.PHONY: help install serve test test-aws up down lint format docs bench mutants clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "recollect needs Python 3.11 or newer; name one: make PYTHON=python3.13"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) -c constraints.txt -e '.[local]'
	@touch $@

$(TESTABLE): $(INSTALLED)
	$(PIP) -c constraints.txt -e '.[local,lambda,bedrock,aws]' --group dev --group bench
	@touch $@

install: $(TESTABLE) ## Make .venv with everything in it

serve: $(INSTALLED) ## Serve HTTP and MCP on http://127.0.0.1:8765, memories in ~/.recollect (DATA=folder)
	$(BIN)/recollect serve --data $(DATA)

test: $(TESTABLE) ## Lint, check types and rooms, run every test
	@$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -n auto

test-aws: $(TESTABLE) ## Run the dialects and the isolation of users on DynamoDB Local and OpenSearch
	RECOLLECT_TEST_STORE=aws RECOLLECT_REQUIRE_ALL=1 $(BIN)/python -m pytest -n auto tests/dialects tests/isolation

up: ## Start OpenSearch, DynamoDB Local and an emulator of AWS here, without Docker (PARTS="opensearch dynamodb")
	@$(PYTHON) localstack/launch.py up $(PARTS)

down: ## End those that `make up` started
	@$(PYTHON) localstack/launch.py down $(PARTS)

lint: $(TESTABLE) ## Ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(TESTABLE) ## Format and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(TESTABLE) ## Write the generated pages and transcripts of docs/ and the README anew
	$(BIN)/python docs/generate.py

bench: $(TESTABLE) ## Measure speed against LangGraph's SqliteStore in one run
	$(BIN)/recollect bench speed --size 1000 --against langgraph

mutants: $(TESTABLE) ## Change the engine's pure rules bit by bit; list the changes that no test notices
	$(PIP) -c constraints.txt --group mutation
	rm -rf .mutants && mkdir .mutants
	ln -s ../shared .mutants/src && ln -s ../tests ../pyproject.toml .mutants
	cd .mutants && CI=1 $(abspath $(BIN))/mutmut run && $(abspath $(BIN))/mutmut results

clean: ## Remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis .import_linter_cache .mutants
