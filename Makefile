# make attack   set up .venv, train the built-in model if there is none, attack it, report
# make test     set up what the tests need and run them all

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help attack test lint format bench bench-quick bench-parts reproduce schema docs clean

help:
	@echo 'make attack   set up .venv, train the built-in model if absent, attack it, report'
	@echo 'make test     set up what is missing and run the whole test suite'
	@echo 'make lint     ruff (rules and format) and mypy (strict, on src)'
	@echo 'make format   put the code into the house format'
	@echo 'make bench    measure speed against Foolbox, ART and CleverHans'
	@echo 'make bench-quick a look at the speed, in under two minutes'
	@echo 'make bench-parts time the parts, beside the last time they were timed'
	@echo 'make reproduce run the experiments of the literature again, all of them'
	@echo 'make schema   write docs/experiment.schema.json anew from the options'
	@echo 'make docs     build the documentation as a site, site/index.html'
	@echo 'make clean    remove .venv and caches; runs/ is kept'

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

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

bench-quick: $(VENV)/.dev
	$(BIN)/python -m benchmarks --quick

bench-parts: $(VENV)/.dev
	@$(PIP) -e '.[bench]'
	$(BIN)/python -m pytest -o addopts= -W default benchmarks/parts.py \
	  --benchmark-warmup=on --benchmark-autosave --benchmark-compare --benchmark-columns=min,median,iqr,rounds

reproduce: $(VENV)/.runtime
	$(BIN)/fgsm reproduce --all

schema: $(VENV)/.runtime
	$(BIN)/fgsm schema > docs/experiment.schema.json

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf site $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.runtime: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'Installing fgsm into $(VENV) (TensorFlow is large; this happens once)' >&2
	@$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo 'Installing the test tools and the peers (Foolbox, ART, CleverHans)' >&2
	@$(PIP) -e '.[dev,docs,peers]'
	@touch $@
