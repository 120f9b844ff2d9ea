#!/usr/bin/env bash
# Make an environment in FOLDER with ColBench and the agent frameworks that it has adapters for: `frameworks.sh FOLDER`.
# FOLDER/bin/python can then run tests/colbench_agents/frameworks.
# A second run does nothing. After an interruption, the next run finishes the work. PYTHON names the Python to use.
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
# CollabLLM requires vLLM and other packages. It calls models through litellm, which requires an older huggingface_hub.
# CollabLLM's collaborator needs none of these. setuptools provides distutils, which newer Pythons lack.
"$python" -m pip install --quiet fastuuid 'httpx[http2]' importlib_metadata pydantic-settings setuptools tokenizers
"$python" -m pip install --quiet --no-deps "collabllm==$collabllm" "litellm==$litellm"
touch "$stamp"
