"""Stages that train in separate processes, so that all memory of the training is freed at the end.

FOLDER/task.json    the definition of the training run, for the processes
FOLDER/memory.json  the peak memory of the first process
FOLDER/run/         the training run; a killed run is resumed (`train.run`)
FOLDER/run/model/   the result: a whole model, or adapters
FOLDER/summary.json, training.svg, training.png     the range of each logged value, the alarms, and a picture
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from colbench.errors import UserError
from sweet_rl_trainer.model.checkpoint import find_local, is_hub_id
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.model.memory_estimate import Size, known_size, size_of, training_bytes
from sweet_rl_trainer.pipeline.base import PICTURES, REFERENCES, RUN, model_in
from sweet_rl_trainer.pipeline.launch import launcher
from sweet_rl_trainer.pipeline.outcome import in_words
from sweet_rl_trainer.pipeline.recipe import LaunchSettings, Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Job, Known, read
from sweet_rl_trainer.pipeline.view import Table, View
from sweet_rl_trainer.settings import LoraSettings, TrainSettings, not_installed
from sweet_rl_trainer.subprocesses import run
from sweet_rl_trainer.train.history import Summary, read_history
from sweet_rl_trainer.train.plot import NAME, draw

TASK = "task.json"
SUMMARY = "summary.json"
MEMORY = "memory.json"
"""File with the first process's peak memory in bytes. On a machine with an accelerator, this is accelerator memory."""
WORKER = "sweet_rl_trainer.pipeline.worker"
ON_EXAMPLES = "sweet_rl_trainer.pipeline.train_examples:train_examples"
SHOWN = ("step", "loss", "accuracy", "eval_accuracy", "eval_nll", "reward", "tokens")
"""Logged values of a training run that the console shows."""
SHARDED = ("fsdp", "zero3")
"""Strings in the names of configurations that shard the weights."""


class Task(Struct, frozen=True, kw_only=True):
    """The paths and settings that the processes of a training run on examples receive."""

    base: str
    origin: str
    """The digest of the base model, so that the processes need not compute the digest."""
    examples: str
    references: str | None
    """The folder of the cached reference values; None if the objective has no reference."""
    settings: TrainSettings
    adapters: LoraSettings | None
    pictures: str | None = None
    """The folder of the examples' pictures; None for examples without pictures."""


def train(
    job: Job,
    settings: TrainSettings,
    adapters: LoraSettings | None,
    launch: LaunchSettings,
    *,
    reference: bool,
    pictured: bool = False,
) -> dict[str, Any]:
    """Train the model of the job's input `model` on the examples of its input `data`.

    Raises UserError if a process fails; the process has printed the error.
    """
    base = model_in(job.inputs["model"])
    task = Task(
        base=str(base),
        origin=model_digest(base),
        examples=str(job.inputs["data"]),
        references=str(job.shared / REFERENCES) if reference else None,
        settings=settings,
        adapters=adapters,
        pictures=str(job.shared / PICTURES) if pictured else None,
    )
    launch_processes(job, task, ON_EXAMPLES, launch)
    return finish(job.folder)


def launch_processes(job: Job, task: Struct, entry: str, launch: LaunchSettings) -> None:
    """Start the processes and wait for them.

    Each process calls the function `entry`, given as MODULE:FUNCTION, with the stage's folder, which contains `task` as
    task.json. Raises UserError if a process fails; the process has printed the error.
    """
    (job.folder / TASK).write_bytes(msgspec.json.format(msgspec.json.encode(task)))
    if code := run(WORKER, (entry, str(job.folder)), launcher=launcher(launch)):
        raise UserError(
            f"{job.folder}: training failed with exit code {code}; see the messages above"
        )


def finish(folder: Path) -> dict[str, Any]:
    """Write the summary and the picture of a stage's training run; return the last values, alarms and peak memory."""
    history = read_history(folder / RUN)
    summary = history.summary()
    (folder / SUMMARY).write_bytes(msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    draw(history, folder, title=f"{folder.name}: values by step")
    memory = msgspec.json.decode((folder / MEMORY).read_bytes())
    return {**history.last, "alarms": summary.alarms, "memory": memory}


def view(folder: Path) -> View:
    """Return the table and picture of a training run; empty for runs of older versions, which wrote no summary."""
    if not (folder / SUMMARY).is_file():
        return View()
    summary = read(folder / SUMMARY, Summary)
    rows = tuple(
        (in_words(name), *map(_number, astuple(values))) for name, values in summary.values.items()
    )
    head = (f"{summary.steps} steps", "first", "last", "lowest", "highest")
    picture = NAME if (folder / f"{NAME}.svg").is_file() else ""
    return View(tables=(Table(head=head, rows=rows),), picture=picture)


def _number(value: float) -> str:
    return f"{value:.4g}"


def estimate(known: Known, settings: TrainSettings, recipe: Recipe, model: str = "") -> Amount:
    """Return the steps, the tokens and the memory of a training run (`Stage.estimate`).

    `model` is the name of the initial model, by default the model that the recipe names.
    """
    name = model or recipe.model.name
    data = known.amounts["data"]
    found = Amount(examples=data.examples, tokens=data.tokens, most=data.most, about=data.about)
    found.missing = not_installed(settings.report_to)
    if data.examples is not None:
        found.steps = settings.steps(data.examples)
        if data.tokens is not None and data.examples:
            epochs = found.steps / settings.steps_of_epoch(data.examples)
            found.tokens = round(data.tokens * epochs)
    if not known.with_models:
        return found
    if size := size_by(known, name):
        launch = recipe.launch
        shards = launch.processes if any(each in launch.config for each in SHARDED) else 1
        found.memory = training_bytes(size, settings, recipe.lora, shards=shards)
    elif is_hub_id(name):
        found.note = f"memory: {name} is not on this machine, and its dimensions are unknown"
    return found


def size_by(known: Known, name: str) -> Size | None:
    """Return the size of a model, which need not be on this machine; None if the size is unknown."""
    folder = model_in(known.inputs["model"]) if "model" in known.inputs else find_local(name)
    return size_of(folder) if folder else known_size(name)
