# The commands of the README. Everything they need is made on the way.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Where it is set, each of the many processes of the tests compiles all that it imports: 28 s of CPU for torch and transformers, not 12.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: eval test test-all test-weekly bench bench-quick checks tools docs package lock clean .venv-vllm .venv-frameworks .venv-harnesses

eval: $(VENV)/.installed
	$(BIN)/colbench sweep agents/examples/baselines.toml

# Three processes for two cores, as many tests wait for a clock, with a thread each: more threads than cores wait for one another.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $$(( ($$(nproc) * 3 + 1) / 2 )) --dist loadfile --no-loadscope-reorder --durations 25

test: checks
	$(PYTEST) -m "not slow and not weekly"

# More of it, also with vLLM, other frameworks and other harnesses, in environments of their own; `test-weekly` has every test.
test-all: SELECTED := -m "not weekly"
test-all test-weekly: export COLBENCH_VLLM := $(CURDIR)/.venv-vllm/bin/vllm
test-all test-weekly: export COLBENCH_FRAMEWORKS := $(CURDIR)/.venv-frameworks/bin/python
test-all test-weekly: export COLBENCH_HARNESSES := $(CURDIR)/.venv-harnesses
test-all test-weekly: checks docs .venv-vllm .venv-frameworks .venv-harnesses
	$(PYTEST) $(SELECTED)

# All benchmarks, or some: `make bench BENCH="sandbox viewer"`. Writes docs/benchmarks.json and docs/benchmarks.md.
bench: tools
	$(BIN)/python tests/benchmarks/run.py $(BENCH)

# Three minutes of them, compared with what is recorded. However slow they are, it succeeds unless one crashes.
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

# The documentation site, in build/site. A broken link fails.
docs: .venv-docs/.installed
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build

# The source archive and the wheel, in dist/, and what PyPI would refuse in them.
package: .venv-package/.installed
	rm -rf dist
	.venv-package/bin/python -m build
	.venv-package/bin/python -m twine check --strict dist/*

# requirements.lock: the packages of an installation with frontend design and training, with hashes, for every platform.
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
