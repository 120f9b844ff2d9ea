#!/usr/bin/env bash
# Make an environment with ColBench and the agent frameworks that it has adapters for in FOLDER: `frameworks.sh FOLDER`.
# Then FOLDER/bin/python runs tests/colbench_agents/frameworks. Run again, it does nothing; interrupted, the next run
# finishes the work. PYTHON names the Python to use.
set -euo pipefail

collabllm=0.0.8
litellm=1.109.1
folder=${1:?usage: frameworks.sh FOLDER}
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$folder/bin/python
stamp=$folder/.installed

if [[ $stamp -nt $root/pyproject.toml && $stamp -nt $0 ]]; then
    exit
fi
"${PYTHON:-python3}" -m venv "$folder"
"$python" -m pip install --quiet --editable "$root[openai-agents,langgraph,smolagents]" hypothesis pytest pytest-asyncio
# CollabLLM asks for vLLM and more, litellm, by which it calls models, for an older huggingface_hub. Its collaborator
# needs none of that; setuptools stands in for distutils, which newer Pythons lack.
"$python" -m pip install --quiet fastuuid 'httpx[http2]' importlib_metadata pydantic-settings setuptools tokenizers
"$python" -m pip install --quiet --no-deps "collabllm==$collabllm" "litellm==$litellm"
touch "$stamp"
