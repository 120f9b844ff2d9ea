"""A policy, or two of them, on tasks: `colbench eval` with the model in the harness's own process, as a stage.

FOLDER/run/          the run folder
FOLDER/report.txt    the report
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import DataError
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.run_folder import RunFolder
from sweet_rl_trainer.pipeline import dialogues
from sweet_rl_trainer.pipeline.base import RUN, model_in
from sweet_rl_trainer.pipeline.recipe import MODEL_PLACEHOLDER
from sweet_rl_trainer.pipeline.stage import Job, Stage, rerun_advice
from sweet_rl_trainer.study.results import Outcome
from sweet_rl_trainer.train.checkpoints import checkpoints

AGENT = f"local:{MODEL_PLACEHOLDER}"
TWO_MODELS = "sweet_rl_trainer.agents.two_model:TwoModelAgent"


def evaluation(policy: Stage, config: RunConfig, *, step: int = 0) -> Stage:
    """Return the stage of dialogues with the model of a stage, or with its checkpoint after `step` steps.

    `config` names the tasks; its agent is filled in.
    """
    asked = replace(config, agent=AGENT)
    return Stage(
        name="evaluate",
        act=partial(_evaluate, config=asked, step=step),
        settings={"run": dialogues.settings(asked), "step": step},
        inputs={"policy": policy},
    )


def exchange(asker: Stage, writer: Stage, config: RunConfig, *, steps: tuple[int, int]) -> Stage:
    """Return the stage of dialogues of one policy with answers of another one (`two_model_agent`).

    `steps` are the training steps of the two checkpoints. `config` names the tasks; its agent is filled in.
    """
    asked = replace(config, agent=TWO_MODELS)
    return Stage(
        name="exchange",
        act=partial(_exchange, config=asked, steps=steps),
        settings={"run": dialogues.settings(asked), "steps": list(steps)},
        inputs={"asker": asker, "writer": writer},
    )


def _evaluate(job: Job, config: RunConfig, step: int) -> dict[str, Any]:
    model = _model(job.inputs["policy"], step)
    return dialogues.evaluate(
        Job(folder=job.folder, inputs={"model": model}, shared=job.shared), config
    )


def _exchange(job: Job, config: RunConfig, steps: tuple[int, int]) -> dict[str, Any]:
    two = {
        name: str(model_in(_model(job.inputs[name], step)).resolve())
        for name, step in zip(("asker", "writer"), steps, strict=True)
    }
    return dialogues.evaluate(job, replace(config, agent_args={**config.agent_args, **two}))


def _model(policy: Path, step: int) -> Path:
    return checkpoints(policy / RUN)[step] if step else policy


def outcomes(folder: Path) -> tuple[Outcome, ...]:
    """Return the outcome of each dialogue of an evaluation, in the order of tasks and trials.

    As in the harness's report a failure of the agent is worth 0, and dialogues that could not be judged are left out.
    Raises DataError if dialogues are missing.
    """
    run = RunFolder(folder / RUN)
    record, rollouts = run.record(), run.rollouts()
    wanted = record.tasks.count * record.config.trials
    if len(rollouts) != wanted:
        raise DataError(f"{folder}: {len(rollouts)} of {wanted} dialogues; {rerun_advice(folder)}")
    return tuple(_outcomes(rollouts))


def _outcomes(rollouts: Iterable[Rollout]) -> Iterator[Outcome]:
    for each in sorted(rollouts, key=lambda each: (each.task_id, each.trial)):
        score = each.scores.get("default")
        if score is None and each.agent_failed:
            score = get_domain(each.domain).lost("the agent failed")["default"]
        if score and score.value is not None and score.success is not None:
            yield _outcome(each, score.value, success=score.success)


def _outcome(rollout: Rollout, value: float, *, success: bool) -> Outcome:
    spoken = [turn.agent_usage for turn in rollout.turns]
    return Outcome(
        task=rollout.task_id,
        trial=rollout.trial,
        success=success,
        value=value,
        turns=len(rollout.turns),
        answered=rollout.ended_by == "answer",
        reply_tokens=sum(each.completion_tokens for each in spoken if each),
    )
