#!/usr/bin/env bash
# tests/torch_cpu.sh PYTHON: installs torch's build for the CPU, a fifth of the download, where there is no NVIDIA GPU and
# PyTorch's own index answers. Elsewhere it does nothing, and the build of PyPI is installed with the other packages.
set -euo pipefail
index=https://download.pytorch.org/whl/cpu
if command -v nvidia-smi >/dev/null; then exit; fi
if ! "$1" -c "import urllib.request; urllib.request.urlopen('$index/torch/', timeout=5)" 2>/dev/null; then exit; fi
"$1" -m pip install --quiet --no-deps --index-url "$index" --constraint constraints.txt torch torchvision
