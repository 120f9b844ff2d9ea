#!/usr/bin/env bash
# Make an environment with ColBench and the agent frameworks that it has adapters for in FOLDER: `frameworks.sh FOLDER`.
# Then FOLDER/bin/python runs tests/colbench_agents/frameworks. Run again, it does nothing; interrupted, the next run
# finishes the work. PYTHON names the Python to use.
set -euo pipefail

collabllm=0.0.8
folder=${1:?usage: frameworks.sh FOLDER}
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$folder/bin/python
stamp=$folder/.installed

if [[ $stamp -nt $root/pyproject.toml && $stamp -nt $0 ]]; then
    exit
fi
"${PYTHON:-python3}" -m venv "$folder"
# litellm is what CollabLLM's LLMCollaborator asks models by; of its own requirements, vLLM among them, no other is used
# there but setuptools, where Python has no distutils.
"$python" -m pip install --quiet --editable "$root[openai-agents,langgraph,smolagents]" \
    litellm pytest pytest-asyncio setuptools
"$python" -m pip install --quiet --no-deps "collabllm==$collabllm"
touch "$stamp"
