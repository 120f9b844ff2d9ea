"""Conversion of a GGUF file, the format of llama.cpp, to a checkpoint folder that can be trained and served.

    python -m sweet_rl_trainer.model.from_gguf FILE.gguf FOLDER

The weights are dequantized to float32. The conversion requires `pip install gguf`.
"""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from colbench.errors import UserError
from sweet_rl_trainer.console import no_bars

USAGE = "usage: python -m sweet_rl_trainer.model.from_gguf FILE.gguf FOLDER"


def convert(file: Path, folder: Path) -> None:
    """Write model, tokenizer and chat template into a new folder, atomically.

    Raises UserError if the folder exists, if the file is missing, or if `gguf` is not installed.
    """
    if folder.exists():
        raise UserError(f"{folder} already exists; choose another folder")
    if not file.is_file():
        raise UserError(f"{file}: no such file")
    if find_spec("gguf") is None:
        raise UserError("GGUF files need the package gguf: `pip install gguf`")
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    with no_bars():
        _dequantized(file).save_pretrained(part)
        _tokenizer(file).save_pretrained(part)
    part.replace(folder)


def _dequantized(file: Path) -> Any:
    """Return the model in float32.

    transformers does not save a model that it dequantized, so the weights are copied to a new model.
    """
    import torch
    from transformers import AutoModelForCausalLM

    read = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32
    )
    config = read.config
    del config.quantization_config
    model = type(read)(config)
    model.load_state_dict(read.state_dict())
    return model


def _tokenizer(file: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)


def main(arguments: list[str]) -> int:
    """Convert the file; return the exit code."""
    if len(arguments) != 2:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        convert(Path(arguments[0]), Path(arguments[1]))
    except UserError as error:
        print(f"from_gguf: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
