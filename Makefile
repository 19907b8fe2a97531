# Thin names for what people do here. Every name sets up .venv by itself, once, and again when pyproject.toml changes.
#
#   make demo                 hear it: set-up without torch, server, one sentence, demo.wav
#   make demo TEXT="..."      the same with a sentence of your own
#   make test                 the whole test suite
#   make check                lint, contract, generated code, layers, types, documentation
#
# More: serve, proto, format, docs, bench, voice, voice-eval, gpu-check, clean. Another interpreter: make PYTHON=python3.12 demo

PYTHON ?= python3
TEXT ?= Hello! I am Antiphon. You hear me while this sentence is still being made.
export TEXT

BIN := .venv/bin
export PATH := $(CURDIR)/.venv/bin:$(PATH)
PROTO_PATH := .:clients:proto/gen
DEMO_WAV ?= demo.wav
BUNDLE ?= voices/default
# The driver says which CUDA it supports; TensorRT's packages for CUDA 13 need a newer one than those for 12.
GPU_EXTRA ?= $(shell nvidia-smi 2>/dev/null | grep -q 'CUDA Version: 12' && echo tensorrt-cu12 || echo tensorrt)

.PHONY: demo test check lint contract layers types docs docs-serve serve proto format bench voice voice-eval gpu-check clean

demo: .venv/runtime.stamp
	@$(BIN)/antiphon demo --text "$$TEXT" -o $(DEMO_WAV)
	@echo "(after: . $(BIN)/activate)"

serve: .venv/runtime.stamp
	$(BIN)/antiphon serve

test: .venv/developer.stamp
	$(BIN)/python -m pytest

check: lint contract layers types docs

lint: .venv/developer.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check

contract: .venv/developer.stamp
	$(BIN)/buf lint proto
	$(BIN)/buf format proto --diff --exit-code
	$(BIN)/buf breaking proto --against proto/baseline.binpb
	$(BIN)/python proto/generate.py --check

layers: .venv/developer.stamp
	PYTHONPATH=$(PROTO_PATH) $(BIN)/lint-imports --no-cache

types: .venv/developer.stamp
	$(BIN)/mypy

docs: .venv/developer.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-serve: .venv/developer.stamp
	$(BIN)/mkdocs serve

proto: .venv/developer.stamp
	$(BIN)/python proto/generate.py

format: .venv/developer.stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/buf format proto --write

bench: .venv/developer.stamp
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.step_floor $(BUNDLE)
	$(BIN)/python -m benchmarks.batching $(BUNDLE)
	$(BIN)/python -m benchmarks.load $(BUNDLE)

voice: .venv/training.stamp
	$(BIN)/python -m training

voice-eval: .venv/training.stamp
	$(BIN)/python -m training evaluate

gpu-check: .venv/developer.stamp
	$(BIN)/python -m pip install --quiet -e '.[$(GPU_EXTRA)]'
	$(BIN)/antiphon selftest --backend tensorrt --slots 128 --plans build/plans --out build/gpu-check

clean:
	rm -rf .venv site build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Set-up. A stamp is as new as the pyproject.toml it was made from, so a second run costs nothing.

.venv/python.stamp:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"Antiphon needs Python 3.11 or newer; $(PYTHON) is {sys.version.split()[0]}. Name another one: make PYTHON=python3.12 ...")'
	@echo "Setting up .venv ..."
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/runtime.stamp: pyproject.toml | .venv/python.stamp
	@echo "Installing what the server needs (no torch) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[audio]'
	@touch $@

.venv/developer.stamp: pyproject.toml .ci/install_torch | .venv/python.stamp
	@echo "Installing the developer's tools and torch ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1' # the first that knows --group
	@.ci/install_torch $(BIN)/pip
	@$(BIN)/python -m pip install --quiet -e '.[audio,build,channelz,fish]' --group dev
	@touch $@ .venv/runtime.stamp

.venv/training.stamp: .venv/developer.stamp
	@echo "Installing what training and its judges need ..."
	@$(BIN)/python -m pip install --quiet -e '.[train]'
	@$(BIN)/python -m pip install --quiet --no-deps distillmos==0.9.1 xls-r-sqa==0.1.0 # their torchaudio is unused, and asks for another torch
	@touch $@
