"""`python -m sweet_rl_trainer.stages.child FOLDER`: one process of a training stage; see `stages.training`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from colbench.errors import ColBenchError

USER_MISTAKE = 2


def main(argv: Sequence[str]) -> int:
    """Train, and return the exit code: 2 where the user's settings or data are at fault."""
    folder = Path(argv[0])
    try:
        _train(folder)
    except ColBenchError as error:
        if os.environ.get("RANK", "0") == "0":
            print(f"sweet-rl: {error}", file=sys.stderr)
        return USER_MISTAKE
    return 0


def _train(folder: Path) -> None:
    from sweet_rl_trainer.models import enough_memory, load_model, load_tokenizer
    from sweet_rl_trainer.reference import model_digest
    from sweet_rl_trainer.stages.base import loading
    from sweet_rl_trainer.stages.files import read
    from sweet_rl_trainer.stages.training import RUN, TASK, Task, examples_of
    from sweet_rl_trainer.training import train
    from sweet_rl_trainer.watch import quiet_in_files

    quiet_in_files()
    task = msgspec.json.decode((folder / TASK).read_bytes(), type=Task)
    base = Path(task.base)
    how = loading(task.settings, task.adapters)
    examples, held_out = map(read, examples_of(Path(task.examples)))
    with enough_memory("training"):
        train(
            load_model(base, dtype=how.dtype, quantize=how.quantize, score=task.settings.score),
            examples,
            task.settings,
            folder=folder / RUN,
            origin=model_digest(base),
            references=None if task.references is None else Path(task.references),
            adapters=task.adapters,
            held_out=held_out,
            tokenizer=load_tokenizer(base),
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
