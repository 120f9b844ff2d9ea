# The commands of the README. Everything they need is made on the way.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: eval test test-all checks clean .venv-vllm .venv-frameworks .venv-harnesses

eval: $(VENV)/.installed
	$(BIN)/colbench sweep agents/examples/baselines.toml

# A thread each: where there are more threads than cores, they wait for one another.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --durations 25

test: checks
	$(PYTEST) -m "not slow"

# Everything: also what takes long, and what needs vLLM, other frameworks and other harnesses, in environments of their own.
test-all: export COLBENCH_VLLM := $(CURDIR)/.venv-vllm/bin/vllm
test-all: export COLBENCH_FRAMEWORKS := $(CURDIR)/.venv-frameworks/bin/python
test-all: export COLBENCH_HARNESSES := $(CURDIR)/.venv-harnesses
test-all: checks .venv-vllm .venv-frameworks .venv-harnesses
	$(PYTEST)

checks: $(VENV)/.installed-dev
	bash tests/browser.sh $(BIN)/python
	bash tests/node.sh
	bash tests/bubblewrap.sh
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

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

clean:
	rm -rf $(VENV) .venv-vllm .venv-frameworks .venv-harnesses
