"""`python -m sweet_rl_trainer.stages.child FOLDER`: one process of a training stage; see `stages.training`.

It exits with the process that started it (`subprocesses`).
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from colbench.errors import ColBenchError
from sweet_rl_trainer.subprocesses import INTERRUPTED, exit_with_parent

if TYPE_CHECKING:
    from sweet_rl_trainer.stages.grpo import GrpoTask
    from sweet_rl_trainer.stages.training import Task

USER_MISTAKE = 2


def main(argv: Sequence[str]) -> int:
    """Train, and return the exit code: 2 where the user's settings or data are at fault."""
    folder = Path(argv[0])
    try:
        exit_with_parent()
        _train(folder)
        _write_peak(folder)
    except ColBenchError as error:
        if os.environ.get("RANK", "0") == "0":
            print(f"sweet-rl: {error}", file=sys.stderr)
        return USER_MISTAKE
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _write_peak(folder: Path) -> None:
    import torch

    from sweet_rl_trainer.stages.training import MEMORY

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated()
    (folder / MEMORY).write_bytes(msgspec.json.encode(peak))


def _train(folder: Path) -> None:
    from sweet_rl_trainer.quiet import quiet

    quiet()
    from sweet_rl_trainer.stages.grpo import GrpoTask
    from sweet_rl_trainer.stages.training import TASK, Task

    wanted: Any = Task | GrpoTask
    task = msgspec.json.decode((folder / TASK).read_bytes(), type=wanted)
    if isinstance(task, GrpoTask):
        _train_by_dialogues(task, folder)
    else:
        _train_on_examples(task, folder)


def _train_on_examples(task: Task, folder: Path) -> None:
    from sweet_rl_trainer.models import enough_memory, load_model, load_tokenizer
    from sweet_rl_trainer.reference import model_digest
    from sweet_rl_trainer.stages.base import loading
    from sweet_rl_trainer.stages.files import read
    from sweet_rl_trainer.stages.training import RUN, examples_of
    from sweet_rl_trainer.training import train

    base = Path(task.base)
    how = loading(task.settings.precision, task.adapters)
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


def _train_by_dialogues(task: GrpoTask, folder: Path) -> None:
    from sweet_rl_trainer.grpo.training import train_grpo
    from sweet_rl_trainer.models import enough_memory, load_model, load_tokenizer
    from sweet_rl_trainer.reference import model_digest
    from sweet_rl_trainer.stages.base import loading
    from sweet_rl_trainer.stages.grpo import tasks_of
    from sweet_rl_trainer.stages.training import RUN

    base = Path(task.base)
    how = loading(task.settings.precision, task.adapters)
    with enough_memory("training"):
        train_grpo(
            load_model(base, dtype=how.dtype, quantize=how.quantize),
            load_tokenizer(base),
            tasks_of(task.dialogues),
            task.settings,
            folder=folder / RUN,
            origin=model_digest(base),
            config=task.dialogues,
            adapters=task.adapters,
            template_args=task.template_args,
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
