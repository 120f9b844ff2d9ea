"""One process of a training stage.

    python -m sweet_rl_trainer.pipeline.worker MODULE:FUNCTION FOLDER      calls the function with the folder

The worker exits when the process that started it exits (`subprocesses`).
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import msgspec

from colbench.console import inherited_output
from colbench.errors import ColBenchError
from sweet_rl_trainer.console import quiet
from sweet_rl_trainer.pipeline.training import MEMORY
from sweet_rl_trainer.subprocesses import INTERRUPTED, exit_with_parent

USER_MISTAKE = 2


def main(arguments: Sequence[str]) -> int:
    """Train, and return the exit code: 2 after an expected error (ColBenchError), 130 after an interruption."""
    entry, folder = arguments[0], Path(arguments[1])
    try:
        exit_with_parent()
        quiet()
        module, _, name = entry.partition(":")
        with inherited_output():
            getattr(import_module(module), name)(folder)
        if _is_first():
            _write_peak(folder)
    except ColBenchError as error:
        if _is_first():
            print(f"sweet-rl: {error}", file=sys.stderr)
        return USER_MISTAKE
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _is_first() -> bool:
    """Return True in the first of the processes."""
    return os.environ.get("RANK", "0") == "0"


def _write_peak(folder: Path) -> None:
    import torch

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated()
    (folder / MEMORY).write_bytes(msgspec.json.encode(peak))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
