# The two commands of the README. Everything they need is made on the way.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: eval test clean

eval: $(VENV)/.installed
	$(BIN)/colbench eval

test: $(VENV)/.installed-dev
	bash tests/browser.sh $(BIN)/python
	bash tests/node.sh
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,frontend,train,qlora]'
	touch $@

# Continuous integration also runs the end-to-end test with real vLLM, in an environment of its own.
ifdef CI
test: export COLBENCH_VLLM := $(CURDIR)/.venv-vllm/bin/vllm
test: .venv-vllm

.PHONY: .venv-vllm
.venv-vllm:
	PYTHON=$(PYTHON) bash tests/e2e/vllm_cpu.sh $@
endif

clean:
	rm -rf $(VENV) .venv-vllm
