# Everything here makes its own virtual environment first; nothing needs to be installed by hand.
#   make demo        train on the embedded sample, translate its test set, score it
#   make test        the whole suite;  make test-fast  without the slow tests
#   make check       format, lint, types, fast tests: what should pass before a commit
#   make bench       measure training, decoding and encoding speed
# Python 3.10 to 3.13; another interpreter: make test PYTHON=python3.12

SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO_DIR ?= demo_run
DEMO_SECONDS ?= 600
# Two workers: TensorFlow takes half a gigabyte of memory in each.
TEST_WORKERS ?= 2

.PHONY: help demo test test-fast check format lint typecheck bench clean

help:
	@sed -n 's/^#   //p' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
	    { echo "$(PYTHON) is not Python 3.10 to 3.13: make ... PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The folder of the programs is newer when one was added, which a new script must be made for.
$(VENV)/installed: pyproject.toml setup.py keras_transformer/cli | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(VENV)/installed
	PATH="$(CURDIR)/$(BIN):$$PATH" ./demo.sh $(DEMO_DIR) $(DEMO_SECONDS)

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --durations 15 $(PYTEST_ARGS)

test-fast: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile -m 'not slow' $(PYTEST_ARGS)

check: format lint typecheck test-fast

format: $(VENV)/installed-dev
	$(BIN)/ruff format --check .

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .

# Type checkers do not see through editable installs; a folder of links has the installed shape.
typecheck: $(VENV)/installed-dev
	rm -rf build/view
	mkdir -p build/view/keras_transformer
	for part in keras_transformer/* problems hparams t2t_compat; do \
	    ln -s "$(CURDIR)/$$part" build/view/keras_transformer/; done
	cd build/view && $(abspath $(BIN))/mypy --config-file ../../pyproject.toml -p keras_transformer

bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks.run

clean:
	rm -rf $(VENV) build dist .cache .pytest_cache .mypy_cache .ruff_cache $(DEMO_DIR)
