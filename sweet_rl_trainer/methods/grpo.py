"""GRPO (arXiv 2402.03300), with TRL's trainer, on dialogues that the trained model itself has in the harness.

    grpo      groups of dialogues about a task; advantage = (reward - mean of the group) / standard deviation, for a
              dialogue or, with `credit = "turn"`, for each of its turns (`train.grpo.credit`)
    export

This method is not in the paper. Published results on ColBench: 51.9% of tests and 39.3% success with Qwen2.5-7B
(ABBEL, arXiv 2512.20111). The package `train.grpo` contains the rollouts, and the settings with their sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from colbench.config import ArgValue, RunConfig
from colbench.selection import select
from sweet_rl_trainer.data.runs import named, training_tasks
from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.pipeline import dialogues
from sweet_rl_trainer.pipeline.base import RUN, loading, model_in
from sweet_rl_trainer.pipeline.iteration import Iteration, plain
from sweet_rl_trainer.pipeline.method import Method
from sweet_rl_trainer.pipeline.recipe import Recipe
from sweet_rl_trainer.pipeline.stage import Amount, Job, Known, Stage
from sweet_rl_trainer.pipeline.training import TASK, finish, launch_processes
from sweet_rl_trainer.settings import LoraSettings, not_installed
from sweet_rl_trainer.train.grpo.settings import GrpoSettings, require_trl, trl_missing

WORKER = f"{__name__}:train_processes"


class GrpoTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of learning from the model's own dialogues."""

    train: GrpoSettings = GrpoSettings()
    dialogues: RunConfig = RunConfig()
    """Settings of the dialogues, such as the human; the agent is always the model that is trained.

    The default of `tasks` is the domain's training tasks.
    """


class GrpoTask(Struct, frozen=True, kw_only=True):
    """The description of a training run that its processes receive."""

    base: str
    origin: str
    """The digest of the base model, so that the processes need not hash the model again."""
    settings: GrpoSettings
    dialogues: RunConfig
    adapters: LoraSettings | None
    template_args: dict[str, ArgValue]


class Grpo(Method):
    """GRPO: the model learns from dialogues that it has during training. A baseline for SWEET-RL."""

    name = "grpo"
    tables: ClassVar[Mapping[str, type[Struct]]] = {"grpo": GrpoTable}
    goals: ClassVar[Mapping[str, str]] = {
        "grpo": "train the baseline by GRPO on dialogues of the model itself, and export it"
    }

    def stages(self, iteration: Iteration, goal: str) -> Sequence[Stage]:
        """Return the stage that exports the policy."""
        table = iteration.recipe.table(GrpoTable)
        settings = {"train": plain(table.train), "dialogues": dialogues.settings(table.dialogues)}
        if table.train.credit == "dialogue":  # keep stage keys from before these settings existed
            del settings["train"]["credit"], settings["train"]["facts_weight"]
        trained = iteration.online("grpo", train, settings, partial(estimate, settings=table.train))
        return [iteration.exported(trained)]


def train(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Train the model of the input `model`. Raises UserError if TRL is not installed, or a process fails."""
    require_trl()
    table = recipe.table(GrpoTable)
    source = table.dialogues.tasks or training_tasks(recipe.domain)
    base = model_in(job.inputs["model"])
    task = GrpoTask(
        base=str(base),
        origin=model_digest(base),
        settings=table.train,
        dialogues=replace(table.dialogues, tasks=source),
        adapters=recipe.lora,
        template_args=recipe.model.template_args,
    )
    launch_processes(job, task, WORKER, recipe.launch)
    return finish(job.folder)


def estimate(known: Known, settings: GrpoSettings) -> Amount:  # noqa: ARG001 - the signature of all estimates
    """Return the number of steps in a training run (`Stage.estimate`)."""
    return Amount(
        steps=settings.steps,
        note=f"{settings.batch_size} dialogues per step",
        missing=trl_missing() or not_installed(settings.report_to),
    )


def train_processes(folder: Path) -> None:
    """Train as one of several processes, with the settings in a stage's folder."""
    from sweet_rl_trainer.model.checkpoint import load_tokenizer
    from sweet_rl_trainer.model.load import enough_memory, load_model
    from sweet_rl_trainer.train.grpo.training import train_grpo

    task = msgspec.json.decode((folder / TASK).read_bytes(), type=GrpoTask)
    base = Path(task.base)
    how = loading(task.settings.precision, task.adapters)
    with enough_memory("training"):
        train_grpo(
            load_model(base, dtype=how.dtype, quantize=how.quantize),
            load_tokenizer(base),
            select(named(task.dialogues.tasks), task.dialogues),
            task.settings,
            folder=folder / RUN,
            origin=task.origin,
            config=task.dialogues,
            adapters=task.adapters,
            template_args=task.template_args,
        )
