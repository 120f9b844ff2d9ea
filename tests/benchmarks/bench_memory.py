"""Memory for a large run with recorded tokens: it is read, paired and written as examples, as in `critic-data`.

    python tests/benchmarks/bench_memory.py [--dialogues 15000] [--folder DIR]

The run has dialogues of eight turns on the bundled tasks. Their prompts grow from 500 to about 4,000 tokens. The run is
made first (85 kB per dialogue); with `--folder`, it is kept. Then a separate process does the work of the stage
`critic-data`. Its peak memory is therefore that of libraries, tasks, trajectories and examples. The baseline is the
size of the run's file.
"""

from __future__ import annotations

import random
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from bench import benchmark, main
from records import Goal, Quantity, Ratio, Round
from usage import in_fresh_process, now, peak_gb

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
"""Number of tokens in the first prompt, and between two turns."""
QUESTION = "What should it return if the list is empty, and does the last day count as late? " * 4
MODEL, RUN = "model", "run"


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
    """Return a dialogue in which each prompt continues the previous one; trial 0 of each task succeeds."""
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


def measure(folder: Path) -> Round:
    """Do the work of the stage, and return CPU time and peak memory."""
    before = now()
    data = load(DataSettings(), {"runs0": folder / RUN})
    loaded = peak_gb()
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
    return {
        "critic-data: peak memory": Quantity(peak_gb(), "GB"),
        "critic-data: peak memory after reading": Quantity(loaded, "GB"),
        "critic-data: CPU": Quantity((now() - before).own, "s"),
        "critic-data: dialogues": Quantity(len(data.train) + len(data.held_out), ""),
        "critic-data: pairs": Quantity(len(made.train), ""),
    }


def options(parser: ArgumentParser) -> None:
    parser.add_argument("--dialogues", type=int, default=15_000)
    parser.add_argument(
        "--folder", type=Path, help="folder for the run; an existing run in it is used again"
    )


@benchmark(
    "memory",
    ratios=[Ratio("peak / the size of the run", "critic-data: peak memory", "run: size")],
    goals=[Goal("critic-data: peak memory", wanted=4.0)],
    options=options,
)
def memory(given: Namespace) -> Iterator[Round]:
    """Make the run once, then process it in fresh processes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if not (folder / RUN).exists():
            in_fresh_process(make, folder, given.dialogues)
        size = (folder / RUN / "rollouts.jsonl").stat().st_size / 1e9
        for _ in range(given.rounds):
            yield in_fresh_process(measure, folder) | {"run: size": Quantity(size, "GB")}


if __name__ == "__main__":
    main(memory)
