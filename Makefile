# One command per task; each sets up what it needs. CONTRIBUTING.md explains them.
PYTHON ?= python3
CLAUDE ?=
BIN := .venv/bin
# tests find our programs on PATH first
test e2e e2e-random chaos soak bench: export PATH := $(CURDIR)/$(BIN):$(PATH)

# tests mostly wait for processes, so one more at a time than this machine has cores
JOBS ?= $(shell echo $$(($$(nproc) + 1)))

.PHONY: setup test lint demo e2e e2e-random chaos soak bench nix-test nix-build-check vm-test clean

# the stamp is remade when the dependencies change; EXTRAS widens what is installed
EXTRAS ?= dev
STAMP = .venv/.stamp-$(EXTRAS)

setup: $(STAMP)

$(STAMP): python/pyproject.toml python/testing/pyproject.toml
	@echo "installing what this needs into .venv (a minute at first)"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e 'python[$(EXTRAS)]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e python/testing
	touch $@

# with CLAUDE=claude the real CLI plays, with its usual credentials
demo: setup
	$(BIN)/hive-subagent-demo $(if $(CLAUDE),--claude $(CLAUDE))

# the tests of a file share a daemon
test: setup
	cd python && ../$(BIN)/python -m pytest -c pyproject.toml -n $(JOBS) --dist loadfile $(ARGS)

# others where those of pip do not run, as in the flake's devShell
RUFF ?= $(BIN)/ruff
MYPY ?= ../$(BIN)/mypy
lint: setup
	$(RUFF) check --config python/pyproject.toml .
	$(RUFF) format --check --config python/pyproject.toml .
	cd python && $(MYPY) src testing/src ../tests ../chaos ../bench ../examples
	cd python && ../$(BIN)/lint-imports
	$(BIN)/python tests/absolute_paths.py

# the real CLI, offline; needs npm once
e2e: setup
	cd tests && ../$(BIN)/python -m e2e.install
	cd python && ../$(BIN)/python -m pytest -c pyproject.toml -n $(JOBS) -m e2e ../tests/e2e $(ARGS)

# N random runs of the real CLI, offline; SEED repeats them
e2e-random: setup
	cd tests && ../$(BIN)/python -m e2e.random_runs \
		--runs $(if $(filter file,$(origin N)),200,$(N)) $(if $(SEED),--seed $(SEED))

# N calls against one daemon, then CRASHES times SIGKILL of a daemon, then MACHINE calls among faults
# of the machine (EMFILE, ENOSPC, EIO), then INTERVENTIONS amid runs; 0 leaves a part out; SEED
# repeats the scripts
N ?= 2000
CRASHES ?= 50
MACHINE ?= 1000
INTERVENTIONS ?= 1000
chaos: setup
	$(BIN)/python -m chaos --runs $(N) --crashes $(CRASHES) --machine $(MACHINE) --interventions $(INTERVENTIONS) \
		$(if $(SEED),--seed $(SEED))

# AT_ONCE subagents at the same time, then N (make soak N=10000) in a row
soak: setup
	$(BIN)/python -m chaos.soak --runs $(N) --at-once $(or $(AT_ONCE),200)

# ratios side by side; QUICK=1 for few rounds, PARTS="start cold" for some of them
bench:
	$(MAKE) --no-print-directory setup EXTRAS=dev,bench
	$(BIN)/python -m bench $(if $(QUICK),--quick) $(PARTS)

# needs no root where a modern Nix is on PATH; NIXPKGS= names a nixpkgs or its lib; UPDATE=1 writes what
# is committed anew
nix-test:
	PYTHON=$(PYTHON) tests/nix/run

# the package in an imitation of Nix's build sandbox, with the locked nixpkgs' versions; needs no
# Nix, and no root where user namespaces are allowed; ARGS="../tests/hook -x" goes to pytest
nix-build-check: setup
	JOBS=$(JOBS) PYTHON=$(BIN)/python tests/nix/build/run $(ARGS)

# SCENARIOS="stop oom" picks some; with FAULTS=1 each is played with faults that it has to notice; the
# first run makes the image (a minute), later ones reuse it; VM_BACKEND=nixos plays NixOS tests
vm-test:
	PYTHON=$(PYTHON) vm-tests/run $(if $(FAULTS),--faults) $(SCENARIOS)

clean:
	rm -rf .venv .cache
