# The make targets; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.SECONDARY:
.PHONY: help setup setup-all mpich ycsb npb ior hpl jupyter wheelhouse system system-all system-test testing venvs course report survey check test test-all bench faults lab lint format lock docs dist clean

VENV := .venv
BIN := $(VENV)/bin
OTHER_MPIS := .venv-ompi5 .venv-mpich
KERNELS := $(wildcard labkit/kernels/*.[ch] $(addprefix labkit/kernels/programs/*.,c cc h))
INTERFACES := $(wildcard labkit/kernels/programs/*.proto labkit/kernels/programs/*.thrift labkit/kernels/programs/*.f90)
NOTEBOOKS := $(shell find notebooks -name '*.ipynb' -not -path '*/.*' 2>/dev/null)
# tests that need the machine for themselves run one after the other, the rest on all cores
MACHINE := mpi or netns or verbs or slurm
PARALLEL := -n logical --dist loadfile
STARTED := $(shell date +%s)
SETUP := templates/setup

# build what could not be built before these packages came, and say why if it fails
built = @$(SETUP)/python.sh programs $(VENV) && echo "Set-up is complete ($$(( $$(date +%s) - $(STARTED) )) s)."
# $(call suite,NAME,OPTIONS): measure and report with these options; the report includes a failed notebook, and the exit status is nonzero
suite = $(BIN)/labkit run $(1); status=$$?; $(BIN)/labkit report $(1) $(2) && exit $$status

help: ## list the make targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: system $(VENV)/.labkit $(if $(filter yes,$(QUARTO)),$(VENV)/.quarto) ## install what the suite quick and its report need: system packages with apt if run as root, Python packages into .venv; QUARTO=yes also installs Quarto
	$(built)

setup-all: system-all system $(VENV)/.labkit ## install what every benchmark needs, except PyTorch; NONFREE=yes also installs netperf and iozone3
	$(built)

testing: system-test system $(VENV)/.tests $(VENV)/.labkit ## install what the tests and linters need as well: Slurm, a second MPI, PyTorch, Python packages
	$(built)

# these two look for more packages than the recipe of system, which then has nothing to add
setup-all testing: WIDER := yes
system:
	@$(if $(WIDER),,$(SETUP)/system.sh)
system-all:
	@$(SETUP)/system.sh all
system-test:
	@$(SETUP)/system.sh test

# system packages come first: the kernels want a compiler
$(VENV)/.packages: requirements.lock $(SETUP)/python.sh | system
	@$(SETUP)/python.sh packages $(@D) requirements.lock
	@touch $@
$(VENV)/.lab: $(VENV)/.packages $(SETUP)/lab.lock
	@$(SETUP)/python.sh packages $(@D) requirements.lock $(SETUP)/lab.lock
	@touch $@
$(VENV)/.tests: $(VENV)/.lab $(SETUP)/test.lock
	@$(SETUP)/python.sh packages $(@D) requirements.lock $(SETUP)/lab.lock $(SETUP)/test.lock
	@touch $@
.venv-course/.packages: requirements.lock $(SETUP)/lab.lock $(SETUP)/course.lock $(SETUP)/python.sh
	@$(SETUP)/python.sh packages $(@D) requirements.lock $(SETUP)/lab.lock $(SETUP)/course.lock
	@touch $@
.venv-docs/.packages: requirements.lock $(SETUP)/docs.lock $(SETUP)/python.sh
	@$(SETUP)/python.sh packages $(@D) requirements.lock $(SETUP)/docs.lock
	@touch $@
# a validator of RO-Crates, without labkit: it wants older packages
.venv-crate/.packages: $(SETUP)/crate.lock $(SETUP)/python.sh
	@$(SETUP)/python.sh packages $(@D) $(SETUP)/crate.lock
	@touch $@
.venv-dist/.packages: $(SETUP)/dist.lock $(SETUP)/python.sh
	@$(SETUP)/python.sh packages $(@D) $(SETUP)/dist.lock
	@touch $@
# Quarto itself comes from its own site, which this package asks
$(VENV)/.quarto: $(VENV)/.packages
	@$(SETUP)/python.sh quarto $(@D)
	@touch $@
# the tests run in these too
.venv-%/.packages: requirements.lock $(SETUP)/lab.lock $(SETUP)/test.lock $(SETUP)/%.lock $(SETUP)/python.sh
	@$(SETUP)/python.sh packages $(@D) requirements.lock $(SETUP)/lab.lock $(SETUP)/test.lock $(SETUP)/$*.lock
	@touch $@

# JupyterLab comes before labkit, whose target ends set-up
$(VENV)/.labkit: $(VENV)/.packages pyproject.toml setup.py $(KERNELS) $(INTERFACES) | $(if $(filter jupyter lab,$(MAKECMDGOALS)),$(VENV)/.lab)
	@$(SETUP)/python.sh labkit $(@D)
	@touch $@
# the kernels are the same for every MPI and lie in the checkout already
.venv-%/.labkit: $(VENV)/.labkit .venv-%/.packages
	@$(SETUP)/python.sh labkit $(@D)
	@touch $@

mpich: setup ## install MPICH from PyPI into .venv, for a machine without an MPI; needs no root
	@$(SETUP)/python.sh packages $(VENV) $(SETUP)/mpich.lock

venvs: $(OTHER_MPIS:%=%/.labkit) ## install Open MPI 5 and MPICH from PyPI, each into its own environment

wheelhouse: ## download the Python packages into wheelhouse/; `make setup` and `make jupyter` install from it without internet
	@$(SETUP)/python.sh wheelhouse requirements.lock $(SETUP)/lab.lock $(SETUP)/uv.lock

course: .venv-course/.labkit ## install nbgrader into .venv-course, for teachers of the labs

report: setup ## measure this machine with the suite quick, build an HTML and a PDF report
	@$(call suite,quick)

survey: setup-all ## the same with the longer suite survey and two recorded examples, as a paper in the style survey
	@$(call suite,survey,$(addprefix data/campaigns/examples/,two-cores virtual-cluster) --style survey)

test: testing course ## run the quick tests (about 6 minutes on two cores)
	@$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not ($(MACHINE))"; pure=$$?; \
	    $(BIN)/python -m pytest -m "not slow and ($(MACHINE))" tests && exit $$pure

test-all: testing venvs course .venv-crate/.packages ## run all tests, and those with ranks on two more MPIs (one to two hours)
	@$(BIN)/python -m pytest $(PARALLEL) -m "not ($(MACHINE))"; failed=$$?; \
	    $(BIN)/python -m pytest -m "$(MACHINE)" tests || failed=1; \
	    for venv in $(OTHER_MPIS); do \
	        echo "With the MPI of $$venv:"; \
	        PATH="$(CURDIR)/$$venv/bin:$$PATH" $$venv/bin/python -m pytest -m mpi tests || [ $$? = 5 ] || failed=1; \
	    done; \
	    exit $$failed

bench: testing ## print labkit's own overhead, and its results beside those of other benchmarks
	@for file in $(wildcard bench/*.py); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

faults: testing ## inject 200 faults of each kind, write the table of docs/reliability.md; TRIES=n, OTHERS=n (faults that are not signals)
	@$(BIN)/python tests/faults.py $(or $(TRIES),200) $(or $(SEED),1) $(OTHERS)

ycsb: labkit/kernels/programs/ycsb/YcsbRedis.class ## bring YCSB from Maven Central for kv.ycsb; needs maven and a JDK
labkit/kernels/programs/ycsb/YcsbRedis.class: labkit/kernels/programs/ycsb.xml labkit/kernels/programs/YcsbRedis.java
	@command -v mvn >/dev/null && command -v javac >/dev/null || { echo "Run: sudo apt-get install maven default-jdk-headless"; exit 1; }
	@rm -rf $(@D)
	@mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=ycsb
	@javac -cp '$(@D)/*' -d $(@D) labkit/kernels/programs/YcsbRedis.java

npb: ## build the NAS Parallel Benchmarks for compute.npb from your own SOURCE=~/NPB3.4.3; CLASSES="S W A"
ior: ## build IOR and mdtest for storage.ior and storage.mdtest from your own SOURCE=~/ior-4.0.0
hpl: ## build HPL for compute.hpl from your own SOURCE=~/hpl-2.3
npb ior hpl:
	@$(SETUP)/originals/build.sh $@ '$(SOURCE)' labkit/kernels/programs/$@

jupyter: $(VENV)/.lab setup ## install JupyterLab and its widgets as well

lab: jupyter ## open JupyterLab on the notebooks
	@$(BIN)/labkit lab

check: testing lint test ## run all linters and the quick tests, as before a commit

lint: $(VENV)/.tests $(VENV)/.labkit ## run all linters; change nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(if $(KERNELS),$(BIN)/clang-format --dry-run -Werror $(KERNELS))
	$(if $(NOTEBOOKS),$(BIN)/nbstripout --keep-id --verify $(NOTEBOOKS))

format: $(VENV)/.tests $(VENV)/.labkit ## format the source
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format
	$(if $(KERNELS),$(BIN)/clang-format -i $(KERNELS))
	$(if $(NOTEBOOKS),$(BIN)/nbstripout --keep-id $(NOTEBOOKS))

docs: .venv-docs/.labkit ## build the documentation site with a reference of the Python names into build/docs
	@.venv-docs/bin/python $(SETUP)/docs/build.py build/docs && echo "Documentation: build/docs/index.html"

dist: .venv-dist/.packages ## build a source archive and wheels for x86_64 and aarch64 into dist/, and check them
	@$(SETUP)/dist.sh .venv-dist/bin/python dist

lock: ## update requirements.lock and the lock files in templates/setup
	@$(SETUP)/lock.sh

clean: ## remove build products and caches; keep environments and campaigns
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache _book .quarto _quarto.yml.local
	rm -f labkit/kernels/_kernels_*.so .venv*/.labkit
	find . -name .venv\* -prune -o -name __pycache__ -type d -exec rm -rf {} +
