#!/usr/bin/env bash
# Install torch's CPU build, a fifth of the download of the default build: `tests/torch_cpu.sh PYTHON`.
# With an NVIDIA GPU, or if PyTorch's own index does not answer, the script does nothing. The build from PyPI is then
# installed with the other packages.
set -euo pipefail
index=https://download.pytorch.org/whl/cpu
if command -v nvidia-smi >/dev/null; then exit; fi
if ! "$1" -c "import urllib.request; urllib.request.urlopen('$index/torch/', timeout=5)" 2>/dev/null; then exit; fi
"$1" -m pip install --quiet --no-deps --index-url "$index" --constraint constraints.txt torch torchvision
