# make claims    verify every claim and write the page (the main job)
# make preview   the page of the committed snapshot, in seconds: nothing is run
# make test      lint and types, every claim at smoke scale, then the tests of the package itself
# make data      data sets that claims need
# make paper     the printed sizes (GPU)   make lint     ruff and pyright
# make workshop  tests of the tools themselves
# make browser   the report in Chromium, every page of it; screenshots of each kind
# make clean     remove what runs wrote; finished trainings in store/ stay
#
# The workshop (docs/workshop.md): make mutants | controls | bench | costs | reliability
#
# Each target sets up what it needs, once. PYTEST_ARGS="-k lemma_3_1" reaches pytest.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed-from-lock
PYTEST := $(BIN)/python -m pytest

.PHONY: workshop setup claims preview test bench costs data paper mutants controls reliability browser lint clean
.DELETE_ON_ERROR:

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "this Python cannot make environments: apt-get install python3-venv"; exit 1; }
	@echo "setting up .venv from requirements.lock (once; a few minutes)"
	$(PYTHON) -m venv --clear .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

claims: $(READY)
	$(PYTEST) claims -n auto --scale laptop $(PYTEST_ARGS)
	@echo "$(CURDIR)/artifacts/index.html"

preview: $(READY)
	$(BIN)/python -m repro preview

test: lint
	$(PYTEST) claims -n auto --scale smoke --artifacts artifacts/smoke $(PYTEST_ARGS)
	$(PYTEST) tests -n auto $(PYTEST_ARGS)

workshop: $(READY)
	$(PYTEST) tools --ignore=tools/reliability -n auto $(PYTEST_ARGS)

bench: $(READY)
	$(PYTEST) tools/benchmarks -m timing -p no:xdist -v --benchmark-enable --benchmark-quiet $(PYTEST_ARGS)

costs: $(READY)
	$(BIN)/python -m tools.costs --run

data: $(READY)
	$(BIN)/python -m repro data

paper: $(READY)
	$(PYTEST) claims --scale paper $(PYTEST_ARGS)
	@echo "$(CURDIR)/artifacts/index.html"

mutants: $(READY)
	$(BIN)/python -m tools.mutants $(MUTANTS); code=$$?; \
	$(BIN)/python -m tools.mutants --report && exit $$code

controls: $(READY)
	$(BIN)/python -m tools.mutants.controls

reliability: export RELIABILITY := full
reliability: $(READY)
	$(PYTEST) tests tools/reliability -m reliability -n auto $(PYTEST_ARGS)

browser: $(READY)
	BROWSER=full $(PYTEST) tests/test_browser.py $(PYTEST_ARGS)
	@echo "$(CURDIR)/artifacts/screenshots"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

clean:
	find artifacts -mindepth 1 -maxdepth 1 ! -name reference -exec rm -rf {} +
	rm -rf .pytest_cache .ruff_cache .benchmarks .hypothesis
