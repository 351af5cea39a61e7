PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
LOCK := requirements/ci.txt

# LOCKED=1 (CI sets it) installs exactly the files whose hashes are in the lock. Without it pip chooses
# versions within pyproject.toml's bounds, so that a Python or platform the lock has no wheel for works too.
ifdef LOCKED
STAMP := .venv/.locked
else
STAMP := .venv/.installed
endif

.PHONY: setup demo test quick lint docs wheel bench mutants fuzz soak lock scan clean

setup: $(STAMP)

.venv/.installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	rm -f .venv/.locked
	$(PIP) install -e '.[test,docs]'
	touch $@

.venv/.locked: pyproject.toml $(LOCK)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	rm -f .venv/.installed
	$(PIP) install --require-hashes --only-binary :all: -r $(LOCK)
	$(PIP) install --no-deps --no-build-isolation -e .
	$(PIP) check
	touch $@

demo: $(STAMP)
	$(BIN)/privgmm demo --out demo

test: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

# What to run while working: all tests but those marked slow, stopping at the first failures.
quick: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m 'not slow' --maxfail=5

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: $(STAMP)
	$(BIN)/python -m hatchling build -t wheel

bench: $(STAMP)
	$(BIN)/python -m bench

mutants: $(STAMP)
	$(BIN)/python tests/audit/mutants.py

fuzz: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m robustness.fuzz --inputs 100000

soak: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m robustness.soak --faults 3000 --minutes 20

# The newest versions for every Python from 3.11 on, with the hashes of all their files.
lock:
	$(PYTHON) -m venv .venv/.lock
	.venv/.lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	mkdir -p $(dir $(LOCK))
	.venv/.lock/bin/uv pip compile pyproject.toml --extra test --extra docs --upgrade --universal \
	  --python-version 3.11 --generate-hashes --no-emit-index-url --no-config --no-python-downloads \
	  --no-annotate --custom-compile-command 'make lock' --quiet --output-file $(LOCK)
	rm -rf .venv/.lock

# Needs the network; fails when a locked version has a known vulnerability or none can be looked up.
scan:
	$(PYTHON) tools/scan.py $(LOCK)

clean:
	rm -rf .venv demo site dist .pytest_cache .mypy_cache .ruff_cache
