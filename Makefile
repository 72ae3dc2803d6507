# `make demo` and `make test` need Python 3.11+ and nothing else.
PYTHON ?= python3
VENV := .venv
JOBS ?= 3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test checks tests soak lint types unit fmt docs lock clean
demo: $(STAMP)
	@$(BIN)/knotwork demo $(ARGS)

# The checks run beside the tests, which mostly wait for databases to start and stop.
test: $(STAMP)
	@$(MAKE) --no-print-directory -j2 checks tests

checks: lint types

# Whole files go to each of the JOBS processes, which have databases of their own and mostly wait for them.
tests: $(STAMP)
	$(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# The law of the graph, tried with thousands of histories: make soak ARGS="--minutes 600".
soak: $(STAMP)
	cd tests && ../$(BIN)/python -m support.soak $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/pyright

unit: $(STAMP)
	$(BIN)/pytest tests/unit $(ARGS)

fmt: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)
	$(BIN)/python docs/make_reference.py

# The tested set of dependencies; pyproject.toml has the ranges.
lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o requirements.lock

$(STAMP): requirements.lock pyproject.toml
	@echo "Making the environment in $(VENV) (about 950 MB, once) ..."
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "Knotwork needs Python 3.11 to 3.13; say which with make PYTHON=python3.11")'
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf $(VENV) .knotwork
