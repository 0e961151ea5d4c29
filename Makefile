# Everything runs in .venv, which is made here and brought up to date when pyproject.toml changes.
# `make` alone lists the targets. On a fresh machine Python 3.11 (with its venv module) and make are enough.

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
BENCHES := $(filter-out _%,$(notdir $(basename $(wildcard bench/*.py))))
PYTEST := $(PY) -m pytest
PYTEST_ARGS ?=

.DELETE_ON_ERROR:
.PHONY: help venv test lint fix bench demo crash clean

help:
	@echo "make test         all tests, on SQLite and on a throwaway Postgres"
	@echo "make lint         style, types, import contracts, no clock below the command line"
	@echo "make fix          what of the style can be mended by itself"
	@echo "make demo         a sample life, a night over it, and the night taken back"
	@echo "make bench        every benchmark; make bench-NAME runs bench/NAME.py"
	@echo "make crash        200 kills at random instants, on each store"
	@echo "make clean        remove what the other targets made"

venv: $(READY)

# The first Python from 3.11 on that can make an environment; PYTHON=... chooses another.
$(READY): pyproject.toml
	@$(PY) -c "" 2>/dev/null || { \
	    for python in $(PYTHON) python3.11 python3 python3.12 python3.13 python3.14; do \
	        "$$python" -c "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))" 2>/dev/null && break; \
	        python=; \
	    done; \
	    [ -n "$$python" ] || { echo "No Python 3.11 or later with its venv module was found: install one, or say make PYTHON=/path/to/python" >&2; exit 1; }; \
	    echo "Making $(VENV) with $$("$$python" --version)"; \
	    "$$python" -m venv --clear $(VENV); }
	@echo "Installing what pyproject.toml names (about a minute the first time)"
	@$(PY) -m pip install -qq --disable-pip-version-check --editable ".[dev]"
	@touch $@

test: $(READY)
	$(PYTEST) -n 2 $(PYTEST_ARGS)

crash: $(READY)
	CONSOLIDATOR_CRASH_KILLS=200 $(PYTEST) -n 2 -o faulthandler_timeout=1200 tests/crash $(PYTEST_ARGS)

lint: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo

fix: $(READY)
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

demo: $(READY)
	sh demo/run.sh $(VENV)/bin/consolidate

bench: $(BENCHES:%=bench-%)

bench-%: bench/%.py $(READY)
	$(PY) $<

clean:
	rm -rf $(VENV) build dist bench/.data .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
