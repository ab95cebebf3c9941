# Needs make and a Python of 3.11 or newer (with venv); everything else is installed into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Of what is installed, Python compiles what it imports, when it does: all of it would take longer than downloading.
QUIETLY := --quiet --disable-pip-version-check $(if $(PYTHONDONTWRITEBYTECODE),,--no-compile)
# Whatever is installed has the version and one of the hashes that the lock files name: see CONTRIBUTING.md.
LOCKED := --require-hashes --constraint constraints.txt --build-constraint constraints.txt
PIP := $(BIN)/python -m pip install $(QUIETLY)
LOCK := .build/locking/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-package steeltrap-small $(UPGRADE)
# The extras that fit into one environment, and those of `make agents`, which want older packages, or many.
EXTRAS := $(addprefix --extra ,server onnx small bedrock aws bucket postgres langgraph anthropic pydantic-ai agent-framework lambda)
AGENTS := $(addprefix --extra ,openai-agents google-adk llama-index strands claude-agent-sdk)
# Its wheels bundle Claude Code, 178 MB that no test runs: what is built from the source leaves it out.
FROM_SOURCE := --no-binary claude-agent-sdk --emit-build-options
ADAPTERS := $(addprefix tests/integrations/test_,openai_agents.py google_adk.py llamaindex.py strands.py claude_agent_sdk.py ag2.py)
LOWEST := --extra server --extra aws --extra bedrock --extra bucket --extra postgres --extra lambda
GROUPS := $(addprefix --group ,log-postgres function function-mcp function-http dev bench browser infra mutation build)
CDK := infra/node_modules/.bin/cdk
CONSOLE := tests/console/node_modules/.package-lock.json
CONFORMANCE := tests/conformance/node_modules/.package-lock.json
TYPESCRIPT := clients/typescript/node_modules/.package-lock.json
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable
DATA ?= $(or $(STEELTRAP_DATA),$(HOME)/.steeltrap)
PORT ?= 8765
STAGE ?= dev
LOG := $(if $(filter postgresql:%,$(STORE)),log-postgres,log)
SAM := .build/sam/bin/sam
WORKFLOWS := .build/workflows/bin
# Folders that `make test` leaves out: their types, and the tests that have their name.
WITHOUT ?=
TYPED := shared functions bench examples mcpb infra
PARTS ?= opensearch dynamodb aws azure postgres
# What `make check` runs: every rule, and each port, dialect and surface where it is quickest.
FAST := tests/unit tests/contracts/test_sqlite.py tests/contracts/test_folder.py tests/contracts/test_explaining.py \
  tests/dialects/test_core.py tests/isolation/test_two_users.py tests/surfaces/test_python.py tests/docs/test_docs.py

.DEFAULT_GOAL := help
.PHONY: help install serve check check-types check-tests test test-aws test-lowest integrations agents agents-s3 typescript conformance history fuzz browser screenshots e2e localstack image chart synth bootstrap deploy github-role destroy validate workflows up down lint lint-code lint-types all-tests format docs bench mutants update-rules lock sbom dist mcpb clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml constraints.txt locks/pip.txt locks/product.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "steeltrap needs Python 3.11 or newer; name one: make PYTHON=python3.13"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement locks/pip.txt
	$(PIP) $(LOCKED) --requirement locks/product.txt --group build
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(TESTABLE): $(INSTALLED) models/small/pyproject.toml models/small/steeltrap_small/embedder.json
	$(PIP) $(LOCKED) --group function --group dev --group bench --group infra
	$(PIP) --no-deps --no-build-isolation ./models/small
	@touch $@

.build/%/.installed: locks/%.txt locks/pip.txt
	$(PYTHON) -m venv .build/$*
	.build/$*/bin/python -m pip install $(QUIETLY) --require-hashes --requirement locks/pip.txt
	.build/$*/bin/python -m pip install $(QUIETLY) --require-hashes --build-constraint constraints.txt --requirement locks/$*.txt
	@touch $@

$(CDK): infra/package-lock.json
	npm ci --prefix infra --silent --no-audit --no-fund
	@touch $@

$(CONFORMANCE): tests/conformance/package-lock.json
	npm ci --prefix tests/conformance --silent --no-audit --no-fund
	@touch $@

$(TYPESCRIPT): clients/typescript/package-lock.json
	npm ci --prefix clients/typescript --silent --no-audit --no-fund
	@touch $@

$(CONSOLE): tests/console/package-lock.json
	npm ci --prefix tests/console --silent --no-audit --no-fund
	@touch $@

$(VENV)/.browsing: $(TESTABLE)
	$(PIP) $(LOCKED) --group browser
	@touch $@

# All that the targets of .ci/run install; first what `make test` may find in the checkout or its environment.
.build/first: $(VENV)/.browsing $(CONSOLE) $(CONFORMANCE) $(TYPESCRIPT)
.build/everything: .build/first .build/lowest/.installed .build/sam/.installed .build/image/.installed \
  .build/schemathesis/.installed .build/agents/.installed .build/chart/.installed

install: $(TESTABLE) ## Create .venv with everything installed

serve: $(INSTALLED) $(if $(STORE),$(VENV)/.$(LOG)) ## Serve HTTP and MCP and a console on http://127.0.0.1:8765 (PORT=port); memories are stored in ~/.steeltrap (DATA=folder), or where other machines share them (STORE=s3://bucket/prefix)
	$(if $(STORE),STEELTRAP_STORE='$(STORE)') $(BIN)/steeltrap serve --data $(DATA) --port $(PORT)

$(VENV)/.log $(VENV)/.log-postgres: $(VENV)/.%: $(INSTALLED)
	$(PIP) $(LOCKED) --group $*
	@touch $@

check: lint-code ## Lint, check types (without infra/) and imports, run the fast tests; takes under a minute
	@$(MAKE) --no-print-directory --jobs 2 check-types check-tests
	@echo "left out: slow tests, the stores of the cloud, the types of infra/ (make test runs them)"

# The types of infra/ are left to `make test`: without a cache, those of the CDK take longer than all the rest.
check-types: $(TESTABLE)
	$(BIN)/mypy $(filter-out infra,$(TYPED))

check-tests: $(TESTABLE)
	STEELTRAP_TEST_PARTS=0 $(BIN)/python -m pytest -n auto -m "not slow" --hypothesis-profile=quick $(FAST)

test: lint-code ## Lint, check types and imports, run every test
	@$(MAKE) --no-print-directory --jobs 2 lint-types all-tests

all-tests: $(TESTABLE)
	$(BIN)/python -m pytest -n auto $(foreach each,$(WITHOUT),--ignore-glob='tests/*$(each)*')

test-aws: $(TESTABLE) ## Run the tests of the toolsets and of isolation on DynamoDB Local and OpenSearch
	STEELTRAP_TEST_STORE=aws STEELTRAP_REQUIRE_ALL=1 $(BIN)/python -m pytest -n auto tests/dialects tests/isolation tests/integrations

test-lowest: .build/lowest/.installed ## Run the unit and surface tests on the lowest versions that pyproject.toml declares
	.build/lowest/bin/python -m pip install $(QUIETLY) --no-deps --no-build-isolation --editable .
	STEELTRAP_TEST_PARTS=0 .build/lowest/bin/python -m pytest -n auto tests/unit tests/surfaces

integrations: $(TESTABLE) ## Run the common story, and what each library's own tests ask for, through every client form
	$(BIN)/python -m pytest -n auto tests/integrations

agents: .build/agents/.installed ## Run the tests of OpenAI's Agents SDK, Google's ADK, LlamaIndex, Strands, the Claude Agent SDK and AG2, which want older packages than all other tests, or many; install each extra alone
	.build/agents/bin/python -m pip install $(QUIETLY) --require-hashes --constraint locks/locking.txt uv
	.build/agents/bin/python -m pip install $(QUIETLY) --no-deps --no-build-isolation --editable .
	.build/agents/bin/python -m pytest -p no:xdist tests/cli/test_extras_alone.py $(ADAPTERS)

agents-s3: .build/agents/.installed ## Run the common story of the same libraries over a bucket of S3
	.build/agents/bin/python -m pip install $(QUIETLY) --no-deps --no-build-isolation --editable .
	STEELTRAP_TEST_STORE=replica STEELTRAP_TEST_LOG=s3 .build/agents/bin/python -m pytest -p no:xdist -k "story or it_is_a_session" $(ADAPTERS)

typescript: $(TESTABLE) $(TYPESCRIPT) ## Build the TypeScript client from docs/openapi.json, and run its tests against a server
	STEELTRAP_TEST_TYPESCRIPT=1 $(BIN)/python -m pytest tests/typescript

conformance: $(TESTABLE) $(CONFORMANCE) ## Run MCP's conformance suite, its inspector and Claude Code against a server, on a Node of their own
	STEELTRAP_TEST_CONFORMANCE=1 $(BIN)/python -m pytest tests/conformance

history: $(TESTABLE) ## Let four writers of one user die, sleep and be answered wrongly over each kind of log, for a minute each (MINUTES=minutes)
	STEELTRAP_TEST_HISTORY=$(or $(MINUTES),1) STEELTRAP_REQUIRE_ALL=1 \
	  $(BIN)/python -m pytest -rP -n 6 tests/faults/test_replica_history.py -k nothing_acknowledged

fuzz: $(TESTABLE) .build/schemathesis/.installed ## Have schemathesis call a server by its OpenAPI document with thousands of requests, valid and not
	STEELTRAP_TEST_FUZZ=1 $(BIN)/python -m pytest tests/fuzz

browser: $(VENV)/.browsing $(CONSOLE) ## Drive the console in Debian's Chromium: every page and action, keyboard, accessibility, hostile texts
	STEELTRAP_TEST_BROWSER=1 $(BIN)/python -m pytest -n 2 --dist loadgroup tests/console

screenshots: $(VENV)/.browsing ## Picture the console for the README and docs/ (docs/images)
	PYTHONPATH=tests/support:tests:. $(BIN)/python -m console.screenshots docs/images

e2e: $(TESTABLE) ## Deploy the synthesised template on an emulator of AWS with OpenSearch, and call it
	STEELTRAP_TEST_E2E=1 STEELTRAP_REQUIRE_ALL=1 \
	  $(PYTHON) localstack/launch.py run opensearch aws aws-iam -- $(BIN)/python -m pytest tests/e2e

localstack: $(TESTABLE) ## Run the tests of AWS's services on LocalStack, without Docker; it needs Python 3.13 (PYTHON=python3.13)
	STEELTRAP_TEST_LOCALSTACK=1 STEELTRAP_REQUIRE_ALL=1 \
	  $(PYTHON) localstack/launch.py run localstack -- \
	  $(BIN)/python -m pytest tests/contracts/test_s3.py tests/contracts/test_aws_services.py

image: $(TESTABLE) .build/image/.installed ## Build the container images with buildah, without a daemon, and try them
	.build/image/bin/hadolint Dockerfile
	deploy/image.sh
	STEELTRAP_TEST_IMAGE=1 $(BIN)/python -m pytest tests/image

chart: $(TESTABLE) .build/chart/.installed ## Lint and render the Helm chart, and validate what it renders by Kubernetes' schemas
	STEELTRAP_TEST_CHART=1 $(BIN)/python -m pytest tests/chart

synth: $(TESTABLE) ## Synthesise a stage of infra/stages.toml into .build/STAGE (STAGE=dev)
	$(BIN)/python -m infra --stage $(STAGE) --out .build/$(STAGE)

deploy: $(TESTABLE) $(CDK) ## Deploy a stage into the AWS account that the shell is signed in to (STAGE=dev); asks nothing in CI
	$(BIN)/python -m infra.preflight --stage $(STAGE)
	$(CDK) deploy --all $(if $(CI),--require-approval never) \
	  --app "$(BIN)/python -m infra --stage $(STAGE)" --output .build/$(STAGE)
	$(BIN)/python -m infra.protect --stage $(STAGE)

bootstrap: $(CDK) ## Prepare an AWS account and region for `make deploy`; needed once (uses the account that the shell is signed in to)
	$(CDK) bootstrap

github-role: $(TESTABLE) $(CDK) ## Create the role with which GitHub Actions deploys (SUBJECT=repo:you/yours:environment:prod)
	$(CDK) deploy --app "$(BIN)/python -m infra.github --subject $(SUBJECT) --provider '$(PROVIDER)'" \
	  --output .build/github

destroy: $(TESTABLE) $(CDK) ## Remove a stage from the AWS account; memories are kept unless the stage says otherwise (STAGE=dev)
	$(CDK) destroy --all --app "$(BIN)/python -m infra --stage $(STAGE)" --output .build/$(STAGE)

validate: $(TESTABLE) .build/sam/.installed ## Synthesise the stages and have SAM check their templates
	for stage in dev prod; do \
	  $(BIN)/python -m infra --stage $$stage --out .build/$$stage && \
	  SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 $(SAM) validate --lint --template .build/$$stage/template.json \
	  || exit 1; \
	done

workflows: .build/workflows/.installed ## Check GitHub's workflows and forms against their schemas, and the workflows for security problems
	$(WORKFLOWS)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(WORKFLOWS)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(WORKFLOWS)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(WORKFLOWS)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(WORKFLOWS)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(WORKFLOWS)/zizmor --offline --quiet --min-severity medium .github

up: ## Start OpenSearch, DynamoDB Local, PostgreSQL and emulators of AWS and Azure on this machine, without Docker (PARTS="opensearch dynamodb")
	@$(PYTHON) localstack/launch.py up $(PARTS)

down: ## Stop what `make up` started
	@$(PYTHON) localstack/launch.py down $(PARTS)

lint: lint-code lint-types ## Ruff, import-linter, mypy

lint-code: $(TESTABLE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

lint-types: $(TESTABLE)
	$(BIN)/mypy $(filter-out $(WITHOUT),$(TYPED))

format: $(TESTABLE) ## Format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(TESTABLE) ## Regenerate the generated pages and transcripts in docs/ and the README
	$(BIN)/python docs/generate.py

bench: $(TESTABLE) ## Measure speed against LangGraph's SqliteStore in one run
	$(BIN)/steeltrap bench speed --size 1000 --against langgraph

mutants: $(TESTABLE) ## Change the engine's pure rules bit by bit; list the changes that no test notices
	$(PIP) $(LOCKED) --group mutation
	rm -rf .mutants && mkdir .mutants
	ln -s ../shared .mutants/src && ln -s ../tests ../pyproject.toml .mutants
	cd .mutants && CI=1 $(abspath $(BIN))/mutmut run && $(abspath $(BIN))/mutmut results

update-rules: $(INSTALLED) ## Make the rules that find secrets again from gitleaks (VERSION=v8.30.1); needs Go, or FROM=gitleaks.toml
	$(BIN)/python locks/gitleaks.py $(or $(VERSION),latest) $(if $(FROM),--from $(FROM))

lock: .build/locking/.installed ## Regenerate the lock files from pyproject.toml (UPGRADE=--upgrade takes the newest versions)
	$(LOCK) $(EXTRAS) $(GROUPS) pyproject.toml --output-file constraints.txt
	$(LOCK) --constraint constraints.txt --extra server pyproject.toml --output-file locks/product.txt
	$(LOCK) --constraint constraints.txt pyproject.toml --output-file locks/library.txt
	rm -f .build/lowest.txt  # so that no version of before is kept
	$(LOCK) --resolution lowest-direct $(LOWEST) pyproject.toml --output-file .build/lowest.txt
	$(LOCK) --constraint .build/lowest.txt $(LOWEST) --group dev --group bench --group build pyproject.toml --output-file locks/lowest.txt
	for each in pip locking sam ministack workflows release image schemathesis chart; do $(LOCK) locks/$$each.in --output-file locks/$$each.txt || exit 1; done
	$(LOCK) $(FROM_SOURCE) --extra server --extra lambda $(AGENTS) --group dev --group build locks/agents.in pyproject.toml --output-file locks/agents.txt
	$(subst --universal --python-version 3.11,--python-platform linux --python-version 3.13,$(LOCK)) locks/localstack.in --output-file locks/localstack.txt
	npm install --prefix infra --package-lock-only --silent
	npm install --prefix localstack --package-lock-only --silent
	npm install --prefix localstack/azure --package-lock-only --silent --ignore-scripts

# cyclonedx-py reads no version from hatch: it gets a pyproject.toml that names it.
sbom: $(INSTALLED) .build/locking/.installed ## Write a software bill of materials (CycloneDX) to .build/sbom.json, from the product's lock file
	sed "s/^dynamic = .*/version = \"$$($(BIN)/python -m hatchling version)\"/" pyproject.toml > .build/pyproject.toml
	.build/locking/bin/cyclonedx-py requirements --pyproject .build/pyproject.toml --output-reproducible \
	  --output-file .build/sbom.json locks/product.txt

dist: $(INSTALLED) .build/release/.installed ## Build what PyPI (dist/pypi), npm (dist/npm) and MCP's registry (dist/mcp) take; install the wheel alone and try it
	rm -rf dist .build/wheel
	$(BIN)/python -m hatchling build --directory dist/pypi
	cd models/small && $(abspath $(BIN))/python -m hatchling build --directory $(abspath dist/pypi)
	.build/release/bin/twine check --strict dist/pypi/*
	$(BIN)/python mcpb/build.py dist/mcp
	cp server.json dist/mcp
	mkdir -p dist/npm
	$(MAKE) $(TYPESCRIPT)
	cd clients/typescript && npm pack --pack-destination $(abspath dist/npm)
	$(PYTHON) -m venv .build/wheel
	.build/wheel/bin/python -m pip install $(QUIETLY) --require-hashes --requirement locks/pip.txt
	.build/wheel/bin/python -m pip install $(QUIETLY) $(LOCKED) --requirement locks/library.txt
	.build/wheel/bin/python -m pip install $(QUIETLY) --no-deps dist/pypi/steeltrap-*.whl
	.build/wheel/bin/python examples/plain_python.py
	.build/wheel/bin/python examples/mcp_client.py
	.build/wheel/bin/python -m pip install $(QUIETLY) $(LOCKED) --requirement locks/product.txt
	.build/wheel/bin/python docs/generate.py --check README.md
	@echo "dist/pypi: for PyPI. dist/npm: for npm publish. dist/mcp: for MCP's registry, and the bundle for the release on GitHub."
	@echo "The image is built by make image here, and by the workflow of a release for two processors."

mcpb: $(INSTALLED) ## Build the bundle that Claude Desktop installs into .build/steeltrap-VERSION.mcpb
	$(BIN)/python mcpb/build.py .build

clean: ## Remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis .import_linter_cache .mutants .build dist
