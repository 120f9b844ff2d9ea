# The two commands of the README. Everything they need is made on the way.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: eval test clean

eval: $(VENV)/.installed
	$(BIN)/colbench eval

# A thread each: where there are more threads than cores, they wait for one another.
test: export OMP_NUM_THREADS := 1
test: $(VENV)/.installed-dev
	bash tests/browser.sh $(BIN)/python
	bash tests/node.sh
	bash tests/bubblewrap.sh
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --durations 25

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,frontend,train,qlora]'
	touch $@

# Continuous integration also runs the tests with real vLLM, the frameworks and other harnesses, in environments of their own.
ifdef CI
test: export COLBENCH_VLLM := $(CURDIR)/.venv-vllm/bin/vllm
test: export COLBENCH_FRAMEWORKS := $(CURDIR)/.venv-frameworks/bin/python
test: export COLBENCH_HARNESSES := $(CURDIR)/.venv-harnesses
test: .venv-vllm .venv-frameworks .venv-harnesses

.PHONY: .venv-vllm .venv-frameworks .venv-harnesses
.venv-vllm:
	PYTHON=$(PYTHON) bash tests/e2e/vllm_cpu.sh $@

.venv-frameworks:
	PYTHON=$(PYTHON) bash tests/e2e/frameworks.sh $@

.venv-harnesses:
	PYTHON=$(PYTHON) bash tests/e2e/harnesses.sh $@
endif

clean:
	rm -rf $(VENV) .venv-vllm .venv-frameworks .venv-harnesses
