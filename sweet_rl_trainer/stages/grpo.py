"""GRPO as a stage: it has dialogues of its own, and needs no others."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from colbench.config import ArgValue, RunConfig
from colbench.task import Task
from sweet_rl_trainer.grpo.settings import GrpoSettings, require_trl
from sweet_rl_trainer.recipe import Recipe
from sweet_rl_trainer.runs import named, training_tasks
from sweet_rl_trainer.settings import LoraSettings
from sweet_rl_trainer.stages.base import model_in
from sweet_rl_trainer.stages.stage import Job
from sweet_rl_trainer.stages.training import RUN, last_values, launch_processes


class GrpoTask(Struct, frozen=True, kw_only=True, tag="grpo"):
    """What the processes are told."""

    base: str
    settings: GrpoSettings
    dialogues: RunConfig
    adapters: LoraSettings | None
    template_args: dict[str, ArgValue]


def train(job: Job, recipe: Recipe) -> dict[str, Any]:
    """Train the model of the input `model`. Raises UserError without TRL, and when a process stops with an error."""
    require_trl()
    table = recipe.grpo
    source = table.dialogues.tasks or training_tasks(recipe.domain)
    task = GrpoTask(
        base=str(model_in(job.inputs["model"])),
        settings=table.train,
        dialogues=replace(table.dialogues, tasks=source),
        adapters=recipe.lora,
        template_args=recipe.model.template_args,
    )
    launch_processes(job, task, recipe.launch)
    return last_values(job.folder / RUN)


def tasks_of(dialogues: RunConfig) -> list[Task]:
    """The tasks that are trained on."""
    wanted = [
        task
        for task in named(dialogues.tasks)
        if dialogues.domain in (None, task.domain)
        and (not dialogues.task_ids or task.id in dialogues.task_ids)
    ]
    return wanted[: dialogues.limit]
