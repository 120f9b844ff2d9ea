"""Memory of a large run with recorded tokens: read, paired and written as examples, as the stage `critic-data` does.

    python tests/benchmarks/bench_memory.py [--dialogues 15000] [--folder DIR]

Dialogues of eight turns on the bundled tasks, whose prompts grow from 500 to about 4,000 tokens. The run is made first
(1.3 GB on disk) and kept with `--folder`; then a process of its own does the work, so its peak memory is that of the
whole process: libraries, tasks, trajectories and examples. To measure other code on the same run, put it in PYTHONPATH.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from colbench.config import RunConfig
from colbench.messages import Sampled
from colbench.rollout import Rollout, Turn
from colbench.run_folder import RunFolder, TaskSource, make_record
from colbench.score import Score
from colbench.selection import load_tasks
from colbench.task import Task
from sweet_rl_trainer.data.files import write
from sweet_rl_trainer.data.pairs import PairSettings
from sweet_rl_trainer.model.tiny import build
from sweet_rl_trainer.pipeline.base import chat_of
from sweet_rl_trainer.pipeline.examples import paired
from sweet_rl_trainer.pipeline.inputs import load
from sweet_rl_trainer.pipeline.recipe import DataSettings, ModelSettings
from sweet_rl_trainer.settings import Shape

TASKS, TRIALS, TURNS = "bundled:backend/train", 4, 8
START, HEARD = 500, 400
"""Tokens of the first prompt, and of what comes between two turns."""
QUESTION = "What should it return if the list is empty, and does the last day count as late? " * 4
MODEL, RUN = "model", "run"


def main() -> None:
    """Make the run, measure and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dialogues", type=int, default=15_000)
    parser.add_argument("--folder", type=Path, help="where the run is made, or was made before")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if not (folder / RUN).exists():
            make(folder, given.dialogues)
        subprocess.run([sys.executable, __file__, "--measure", "--folder", folder], check=True)


def make(folder: Path, dialogues: int) -> None:
    """Make a tokenizer and the run."""
    tasks = load_tasks(TASKS)
    build(folder / MODEL, Shape(layers=1, width=32, inner=64, vocabulary=4096), [QUESTION])
    chat = chat_of(folder / MODEL, ModelSettings())
    reply = (*chat.encode(QUESTION), chat.end)
    source = TaskSource(source=TASKS, count=len(tasks), hash="")
    with RunFolder(folder / RUN).writing(make_record(RunConfig(), {"agent": {}}, source)) as writer:
        for number in range(dialogues):
            place, trial = divmod(number, TRIALS)
            writer.append(rollout(tasks[place], trial, reply, number))


def rollout(task: Task, trial: int, reply: tuple[int, ...], number: int) -> Rollout:
    """Return a dialogue of which each prompt continues the one before; the first of a task succeeds."""
    return Rollout(
        key=str(number),
        task_id=task.id,
        task_hash=task.hash,
        domain=task.domain,
        trial=trial,
        seed=0,
        request=task.request,
        turns=tuple(turns(reply, random.Random(number))),
        answer="",
        ended_by="answer",
        scores={
            "default": Score(scorer="synthetic", value=0.5 if trial else 1.0, success=not trial)
        },
    )


def turns(reply: tuple[int, ...], chance: random.Random) -> Iterator[Turn]:
    """Yield the turns of a dialogue."""
    prompt = tuple(chance.choices(range(300, 600), k=START))
    for _ in range(TURNS):
        sampled = Sampled(prompt=prompt, ids=reply, logprobs=(-0.5,) * len(reply))
        yield Turn(raw=QUESTION, said=QUESTION, human="Yes. " * 80, sampled=sampled)
        prompt = (*prompt, *reply, *chance.choices(range(300, 600), k=HEARD))


def measure(folder: Path) -> None:
    """Do what the stage does, and print time and peak memory."""
    start = time.perf_counter()
    data = load(DataSettings(), {"runs0": folder / RUN})
    loaded = peak()
    made = paired(
        data,
        chat_of(folder / MODEL, ModelSettings()),
        pairs=PairSettings(),
        token_weights="turn-mean",
        privileged="preamble",
        max_length=8192,
    )
    write(folder / "train.msgpack", made.train)
    write(folder / "held_out.msgpack", made.held_out)
    prompts = [len(turn.prompt) for each in data.train for turn in each.sampled if turn]
    print(
        f"{len(data.train) + len(data.held_out):,} dialogues, prompts of up to {max(prompts):,} tokens "
        f"(mean {sum(prompts) / len(prompts):,.0f}), {len(made.train):,} pairs: peak {peak():.2f} GB, "
        f"{loaded:.2f} GB once read; {time.perf_counter() - start:.0f} s"
    )


def peak() -> float:
    """Return the peak memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
