#!/usr/bin/env bash
# Make environments with ColBench and the harnesses in which it can run: `harnesses.sh FOLDER`.
# They contain FOLDER/inspect/bin/inspect and FOLDER/verifiers/bin/vf-eval, which need different releases of openai.
# A second run does nothing. After an interruption, the next run finishes the work. PYTHON names the Python to use.
set -euo pipefail

inspect=0.3.285
openai=3.54.0
verifiers=0.4.0
folder=${1:?usage: harnesses.sh FOLDER}
root=$(cd "$(dirname "$0")/../.." && pwd)
stamp=$folder/.installed

if [[ $stamp -nt $root/pyproject.toml && $stamp -nt $0 ]]; then
    exit
fi
for name in inspect verifiers; do
    "${PYTHON:-python3}" -m venv "$folder/$name"
done
"$folder/inspect/bin/python" -m pip install --quiet --editable "$root[inspect]" "inspect-ai==$inspect" "openai==$openai"
"$folder/verifiers/bin/python" -m pip install --quiet --editable "$root[verifiers]" "verifiers==$verifiers"
touch "$stamp"
