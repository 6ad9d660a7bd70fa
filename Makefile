# Every command does its own set-up; it needs only make, git and Python 3.11 or newer.
SHELL := /bin/sh
BIN := .venv/bin
ARGS ?=

.PHONY: help demo test docs bench bench-peers lint ruff format-check types imports budgets format setup setup-core clean

help:
	@echo "make demo     install and run the demonstration"
	@echo "make test     run all tests              (ARGS='-k name' is passed to pytest)"
	@echo "make docs     renew the examples and generated parts of the documentation"
	@echo "make bench    measure speed and memory    (ARGS='--only grade --runs 3 --no-write'; all: 15 minutes)"
	@echo "make bench-peers   measure other tools on the same files, in their own environments"
	@echo "make lint     style, types, architecture and budgets"
	@echo "make format   rewrite the code in the project's format"
	@echo "make setup    only make .venv ready for development"
	@echo "make clean    remove .venv, caches and build results"

setup-core:
	@scripts/set-up core

setup:
	@scripts/set-up dev

demo: setup-core
	@$(BIN)/steelyard demo $(ARGS)

test: setup
	@$(BIN)/python -m pytest -q $(ARGS)

docs: setup
	@$(BIN)/python scripts/docs.py $(ARGS)

bench: setup
	@$(BIN)/python bench/bench.py $(ARGS)

bench-peers: setup
	@$(BIN)/python bench/peers.py $(ARGS)

lint: ruff format-check types imports budgets

ruff: setup
	@$(BIN)/ruff check --output-format concise .

format-check: setup
	@$(BIN)/ruff format --check --output-format concise . || { echo "Run 'make format'." >&2; exit 1; }

types: setup
	@$(BIN)/mypy

# Without its cache, which keeps what an import meant before the module it names existed.
imports: setup
	@$(BIN)/lint-imports --no-logo --no-cache

budgets: setup
	@$(BIN)/python -m pytest -q tests/architecture

format: setup
	@$(BIN)/ruff check --quiet --select I --fix . && $(BIN)/ruff format .

clean:
	rm -rf .venv .venv.lock .bench build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -path ./.git -prune -o -name __pycache__ -type d -exec rm -rf {} +
