# make up and make test are all that a newcomer needs; make help lists the rest.
# Needs: Python 3.11 to 3.13 with venv, make, and a package index that pip can reach.

SHELL := /bin/sh
.DEFAULT_GOAL := help

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --disable-pip-version-check --no-input --progress-bar off
STATE ?= ./.relay
CODE := relay watch_supervisor notebook_bridge
CHECKED := $(CODE) tests $(wildcard benchmarks)

.PHONY: help up env test lint format coverage test-browser chromium editors bench day soak clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

# ---- what a person runs -------------------------------------------------------------------------------------------

up: $(VENV)/.runtime ## start the relay on the local page (SCRIPT=file, CONFIG=file, PORT=number)
	@exec $(PY) -m relay up --state '$(STATE)' \
	  $(if $(CONFIG),--config '$(CONFIG)') $(if $(SCRIPT),--script '$(SCRIPT)') $(if $(PORT),--port '$(PORT)')

test: $(VENV)/.dev ## run the tests: no browser, no key (ARGS='-k name' for some of them)
	@$(PY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

# ---- lanes --------------------------------------------------------------------------------------------------------

lint: $(VENV)/.dev ## formatting, lint, types, import directions
	@$(PY) -m ruff check $(CHECKED)
	@$(PY) -m ruff format --check $(CHECKED)
	@$(PY) -m pyright
	@$(PY) -m pytest -q tests/test_house.py

format: $(VENV)/.dev ## put the code into shape
	@$(PY) -m ruff check --fix $(CHECKED)
	@$(PY) -m ruff format $(CHECKED)

coverage: $(VENV)/.dev ## run the tests and say which lines they don't reach
	@$(PY) -m coverage erase
	@$(PY) -m coverage run -m pytest $(ARGS)
	@$(PY) -m coverage combine -q
	@$(PY) -m coverage report

test-browser: $(VENV)/.browser chromium ## drive the page with a real browser
	@$(PY) -m pytest tests/browser $(ARGS)

editors: ## install the tools whose edits the tests of watches try (vim, ed, git); root on Debian
	@apt-get install -qq -y --no-install-recommends vim ed git logrotate

soak: $(VENV)/.dev ## the long figures: soak tests, and many more examples of each property
	@HYPOTHESIS_PROFILE=soak $(PY) -m pytest -m 'soak or hypothesis' -o faulthandler_timeout=0 $(ARGS)

day: $(VENV)/.dev ## play a day on the tests' Discord with faults on, and print what people saw
	@$(PY) tests/on_discord/day.py

bench: $(VENV)/.dev ## print the benchmarks' ratios
	@ls benchmarks/*.py >/dev/null 2>&1 || { echo 'make bench: there is no benchmark in benchmarks/.' >&2; exit 1; }
	@set -e; for bench in benchmarks/[a-z]*.py; do echo "== $$bench"; $(PY) "$$bench"; done

clean: ## take away what make made; .relay, the relay's own state, stays
	@rm -rf $(VENV) dist .pytest_cache .ruff_cache .hypothesis .coverage .coverage.*
	@find $(CODE) tests -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- the environment ----------------------------------------------------------------------------------------------
# A stamp says that .venv holds what a requirements file pins; so a second start installs nothing.

env: $(VENV)/.runtime ## make .venv, and nothing else

$(PY):
	@why='No Python 3.11, 3.12 or 3.13 was found.'; \
	for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	  command -v "$$python" >/dev/null 2>&1 || continue; \
	  "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || continue; \
	  if ! "$$python" -c 'import venv, ensurepip' 2>/dev/null; then \
	    why="$$python has no venv. Install it (Debian, Ubuntu: apt-get install python3-venv)."; continue; \
	  fi; \
	  echo "Making $(VENV) with $$("$$python" --version) (once; about a minute) ..."; \
	  rm -rf $(VENV); \
	  "$$python" -m venv $(VENV) && exit 0; \
	  rm -rf $(VENV); \
	  echo "make: $$python couldn't make $(VENV); its own words are above." >&2; exit 1; \
	done; \
	echo "make: $$why" >&2; \
	echo 'make: or name one: make PYTHON=/path/to/python3.11 up' >&2; exit 1

$(VENV)/.runtime: requirements/runtime.txt requirements/build.txt pyproject.toml | $(PY)
	@echo 'Installing what the relay needs ...'
	@$(PIP) -r requirements/runtime.txt -r requirements/build.txt
	@$(PIP) -q --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	@echo 'Installing what the tests need ...'
	@$(PIP) -r requirements/dev.txt
	@touch $@

$(VENV)/.browser: requirements/browser.txt $(VENV)/.dev
	@echo 'Installing what the browser tests need ...'
	@$(PIP) -r requirements/browser.txt
	@touch $@

chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || test -x "$$RELAY_CHROMIUM" || { \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	      echo 'Installing Chromium with apt-get ...'; \
	      apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
	        chromium fonts-dejavu-core </dev/null >/dev/null; \
	    else false; fi; } \
	  || { echo 'make test-browser needs Chromium: install it (Debian: apt-get install chromium),' >&2; \
	       echo 'or set RELAY_CHROMIUM to the path of a Chromium or Chrome.' >&2; exit 1; }
