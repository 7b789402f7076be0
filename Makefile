PY := .venv/bin/python

.PHONY: help setup test types check coverage golden bench docs

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

.venv/installed: pyproject.toml
	python3 -m venv .venv
	$(PY) -m pip install --quiet --no-compile --disable-pip-version-check -e '.[dev]'
	touch $@

setup: .venv/installed ## make .venv with tracelode and its development tools

test: setup ## run the tests
	$(PY) -m pytest -n auto --dist worksteal

types: setup ## check the types
	.venv/bin/pyright --level error

check: setup ## format, lint, layers, types beside tests
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	.venv/bin/lint-imports --no-cache
	$(MAKE) --no-print-directory --jobs 2 types test

coverage: setup ## run the tests that are cheap to trace; fails where too few lines are run
	$(PY) -m pytest -n auto --dist worksteal --cov --cov-report=term:skip-covered -m "not exhaustive"

golden: setup ## write the expected outputs in tests/golden anew; review the difference
	TRACELODE_GOLDEN=write $(PY) -m pytest tests/golden -q

bench: setup ## measure ingest, mining and its quality, each against baselines in the same run
	$(PY) -m benchmarks
	$(PY) -m benchmarks.analyses
	$(PY) -m benchmarks.passes
	$(PY) -m benchmarks.timeline
	$(PY) -m benchmarks.report
	$(PY) -m benchmarks.peer
	$(PY) -m benchmarks.batch --traces 1000
	$(PY) -m benchmarks.suffix
	$(PY) -m benchmarks.record
	$(PY) -m benchmarks.agent
	$(PY) -m benchmarks.quality

docs: setup ## write the generated pages of docs/ anew
	$(PY) -m docs.generate
