# Each target works as the first command on a fresh clone: bootstrap.py makes .venv if it must.
PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
SAMPLE := autograder/sample_class
LAB_FLAGS ?=

.PHONY: help lab grade test notebooks exercises setup

help:
	@echo "make lab        open the course in JupyterLab"
	@echo "make grade      release the assignments and grade the sample class"
	@echo "make test       run the tests, the chapters included"
	@echo "make notebooks  build every notebook from its text and run the chapters"
	@echo "make exercises  build exercises/ from solutions/"

setup:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found. Install Python 3.11 or newer: apt-get install python3 python3-venv, brew install python@3.11, or python.org" >&2; exit 3; }
	@$(PYTHON) bootstrap.py

lab: setup
	jupyter lab --LabApp.default_url=/lab/tree/course/00_start_here.ipynb $(LAB_FLAGS)

grade: setup
	@autograder release --to build/sample/exercises
	@autograder grade --submissions $(SAMPLE)/submitted --expected $(SAMPLE)/expected --build build/sample
	@autograder feedback --build build/sample

test: setup
	@autograder lint
	@python -m pytest

notebooks: setup
	@python -m autograder.twins --run course/*.md
	@python -m autograder.twins solutions/*/*.md

exercises: setup
	@autograder release
