# make attack   set up .venv, train the built-in model if there is none, attack it, report
# make test     set up what the tests need and run them all

PYTHON  ?= python3
VENV    := .venv
BENCH   := .venv-bench
BIN     := $(VENV)/bin
INSTALL := -m pip install --quiet --disable-pip-version-check -c constraints.txt
PIP     := $(BIN)/python $(INSTALL)

.PHONY: help attack test lint format bench bench-quick bench-parts reproduce schema docs clean

help:
	@echo 'make attack       set up .venv, train the built-in model if absent, attack it, report'
	@echo 'make test         set up what is missing and run the whole test suite'
	@echo 'make lint         ruff (rules and format) and mypy (strict, on src)'
	@echo 'make format       put the code into the house format'
	@echo 'make docs         build the documentation as a site, site/index.html'
	@echo 'make schema       write docs/experiment.schema.json anew from the options'
	@echo 'make reproduce    run the experiments of the literature again, all of them'
	@echo 'make bench        measure speed against Foolbox, ART and CleverHans'
	@echo 'make bench-quick  a look at the speed, in under two minutes'
	@echo 'make bench-parts  time the parts, beside the last time they were timed'
	@echo 'make clean        remove what was set up and built; runs/ is kept'

attack: $(VENV)/.runtime
	@$(BIN)/fgsm attack --epsilon 0.1

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks

bench-quick: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks --quick

bench-parts: $(BENCH)/.ready
	$(BENCH)/bin/python -m pytest -o addopts= -W default benchmarks/parts.py \
	  --benchmark-warmup=on --benchmark-autosave --benchmark-compare --benchmark-columns=min,median,iqr,rounds

reproduce: $(VENV)/.runtime
	$(BIN)/fgsm reproduce --all

schema: $(VENV)/.runtime
	$(BIN)/fgsm schema > docs/experiment.schema.json

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf site $(VENV) $(BENCH) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.runtime: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'Installing fgsm into $(VENV) (TensorFlow is large; this happens once)' >&2
	@$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo 'Installing the test tools and the peers (Foolbox, ART, CleverHans)' >&2
	@$(PIP) -e '.[dev,docs,peers]'
	@touch $@

# The peers in an environment of their own, so that what is measured is what is installed here.
$(BENCH)/.ready: pyproject.toml constraints.txt
	@test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	@echo 'Installing fgsm and the peers (Foolbox, ART, CleverHans) into $(BENCH)' >&2
	@$(BENCH)/bin/python $(INSTALL) -e '.[bench,peers]'
	@touch $@
