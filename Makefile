# The commands of the README. Each command first makes the environments that it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# If this variable is set, each of the many test processes compiles all modules that it imports. For torch and
# transformers, this takes 28 s of CPU instead of 12 s.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: eval test test-all test-weekly bench bench-quick checks tools docs package lock clean .venv-vllm .venv-frameworks .venv-harnesses

eval: $(VENV)/.installed
	$(BIN)/colbench sweep agents/examples/baselines.toml

# Three processes for two cores, because many tests wait for a clock. One thread per process, because threads that
# outnumber the cores wait for each other.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $$(( ($$(nproc) * 3 + 1) / 2 )) --dist loadfile --no-loadscope-reorder --durations 25

test: checks
	$(PYTEST) -m "not slow and not weekly"

# More tests, including those with vLLM, other frameworks and other harnesses, in their own environments. `test-weekly`
# runs all tests.
test-all: SELECTED := -m "not weekly"
test-all test-weekly: export COLBENCH_VLLM := $(CURDIR)/.venv-vllm/bin/vllm
test-all test-weekly: export COLBENCH_FRAMEWORKS := $(CURDIR)/.venv-frameworks/bin/python
test-all test-weekly: export COLBENCH_HARNESSES := $(CURDIR)/.venv-harnesses
test-all test-weekly: checks docs .venv-vllm .venv-frameworks .venv-harnesses
	$(PYTEST) $(SELECTED)

# All benchmarks, or some: `make bench BENCH="sandbox viewer"`. This writes docs/benchmarks.json and docs/benchmarks.md.
bench: tools
	$(BIN)/python tests/benchmarks/run.py $(BENCH)

# Three minutes of quick benchmarks, compared with the records. They succeed, however slow they are, unless one crashes.
bench-quick: tools
	$(BIN)/python tests/benchmarks/run.py --quick $(BENCH)

checks: tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

tools: $(VENV)/.installed-dev
	bash tests/browser.sh $(BIN)/python
	bash tests/node.sh
	bash tests/bubblewrap.sh

# The documentation site, in build/site. A broken link is an error.
docs: .venv-docs/.installed
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build

# The source archive and the wheel, in dist/, checked for errors because of which PyPI would refuse them.
package: .venv-package/.installed
	rm -rf dist
	.venv-package/bin/python -m build
	.venv-package/bin/python -m twine check --strict dist/*

# requirements.lock: the packages, with hashes, that ColBench needs for frontend design and training on every platform.
lock: .venv-package/.installed
	.venv-package/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
		--custom-compile-command "make lock" --constraints constraints.txt --extra frontend --extra train \
		--output-file requirements.lock pyproject.toml

.venv-vllm:
	PYTHON=$(PYTHON) bash tests/e2e/vllm_cpu.sh $@

.venv-frameworks:
	PYTHON=$(PYTHON) bash tests/e2e/frameworks.sh $@

.venv-harnesses:
	PYTHON=$(PYTHON) bash tests/e2e/harnesses.sh $@

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	bash tests/torch_cpu.sh $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,frontend,train,qlora]'
	touch $@

.venv-docs/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

.venv-package/.installed:
	$(PYTHON) -m venv .venv-package
	.venv-package/bin/python -m pip install --quiet 'build>=1.2' 'twine>=6.1' 'uv>=0.9'
	touch $@

clean:
	rm -rf $(VENV) .venv-docs .venv-package .venv-vllm .venv-frameworks .venv-harnesses build dist
