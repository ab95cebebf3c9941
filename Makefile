# Needs make and a Python of 3.11 or newer (with venv); everything else is installed into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable
DATA ?= $(HOME)/.recollect
STAGE ?= dev
SAM := .build/sam/bin/sam
PARTS ?= opensearch dynamodb aws

.DEFAULT_GOAL := help
.PHONY: help install serve test test-aws e2e synth deploy github-role destroy validate up down lint format docs bench mutants clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "recollect needs Python 3.11 or newer; name one: make PYTHON=python3.13"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) -c constraints.txt -e .
	@touch $@

$(TESTABLE): $(INSTALLED)
	$(PIP) -c constraints.txt -e '.[lambda,bedrock,aws]' --group dev --group bench --group infra
	@touch $@

$(SAM):
	$(PYTHON) -m venv .build/sam
	.build/sam/bin/pip install --quiet --disable-pip-version-check aws-sam-cli

install: $(TESTABLE) ## Make .venv with everything in it

serve: $(INSTALLED) ## Serve HTTP and MCP on http://127.0.0.1:8765, memories in ~/.recollect (DATA=folder)
	$(BIN)/recollect serve --data $(DATA)

test: $(TESTABLE) ## Lint, check types and rooms, run every test
	@$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -n auto

test-aws: $(TESTABLE) ## Run the dialects and the isolation of users on DynamoDB Local and OpenSearch
	RECOLLECT_TEST_STORE=aws RECOLLECT_REQUIRE_ALL=1 $(BIN)/python -m pytest -n auto tests/dialects tests/isolation

e2e: $(TESTABLE) ## Deploy the synthesised template on an emulator of AWS with OpenSearch, and call it
	RECOLLECT_TEST_E2E=1 RECOLLECT_REQUIRE_ALL=1 \
	  $(PYTHON) localstack/launch.py run opensearch aws -- $(BIN)/python -m pytest tests/e2e

synth: $(TESTABLE) ## Synthesise a stage of infra/stages.toml into .build/STAGE (STAGE=dev)
	$(BIN)/python -m infra --stage $(STAGE) --out .build/$(STAGE)

deploy: $(TESTABLE) ## Deploy a stage into the AWS account that the shell is signed in to (STAGE=dev); asks nothing in CI
	$(BIN)/python -m infra.preflight --stage $(STAGE)
	npx --yes aws-cdk@2 deploy --all $(if $(CI),--require-approval never) \
	  --app "$(BIN)/python -m infra --stage $(STAGE)" --output .build/$(STAGE)
	$(BIN)/python -m infra.protect --stage $(STAGE)

github-role: $(TESTABLE) ## Make the role by which GitHub Actions deploys (SUBJECT=repo:you/yours:environment:prod)
	npx --yes aws-cdk@2 deploy --app "$(BIN)/python -m infra.github --subject $(SUBJECT) --provider '$(PROVIDER)'" \
	  --output .build/github

destroy: $(TESTABLE) ## Remove a stage from the AWS account; memories stay unless the stage says otherwise (STAGE=dev)
	npx --yes aws-cdk@2 destroy --all --app "$(BIN)/python -m infra --stage $(STAGE)" --output .build/$(STAGE)

validate: $(TESTABLE) $(SAM) ## Synthesise the stages and have SAM check their templates
	for stage in dev prod; do \
	  $(BIN)/python -m infra --stage $$stage --out .build/$$stage && \
	  SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 $(SAM) validate --lint --template .build/$$stage/template.json \
	  || exit 1; \
	done

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
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis .import_linter_cache .mutants .build
