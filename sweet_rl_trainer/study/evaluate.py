"""The stage that evaluates a policy, or a pair of asker and writer, by running `colbench eval`.

FOLDER/run/             the run folder
FOLDER/report.txt       the report
FOLDER/outcomes.json    the outcome of each dialogue (`results.Outcome`)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import DataError
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.run_folder import RunFolder
from sweet_rl_trainer.agents.oracle import ORACLE
from sweet_rl_trainer.pipeline import dialogues
from sweet_rl_trainer.pipeline.base import RUN, model_in
from sweet_rl_trainer.pipeline.recipe import MODEL_PLACEHOLDER
from sweet_rl_trainer.pipeline.stage import Job, Stage, read, rerun_advice
from sweet_rl_trainer.study.results import Outcome

AGENT = f"local:{MODEL_PLACEHOLDER}"
TWO_MODELS = "sweet_rl_trainer.agents.two_model:TwoModelAgent"
OUTCOMES = "outcomes.json"
Speaker = Stage | None
"""The stage that exports a policy; None for the oracle."""


def evaluation(policy: Stage, config: RunConfig) -> Stage:
    """Return the stage that evaluates a policy; `config` names the tasks."""
    asked = replace(config, agent=AGENT)
    return Stage(
        name="evaluate",
        act=partial(_evaluate, config=asked),
        settings={"run": dialogues.settings(asked)},
        inputs={"model": policy},
    )


def exchange(asker: Speaker, writer: Speaker, config: RunConfig) -> Stage:
    """Return the stage that runs dialogues in which `asker` asks and `writer` answers; `config` names the tasks."""
    speakers = {"asker": asker, "writer": writer}
    questions = config.max_turns - 1
    asked = replace(
        config, agent=TWO_MODELS, agent_args={**config.agent_args, "questions": questions}
    )
    return Stage(
        name="exchange",
        act=partial(_exchange, config=asked),
        settings={"run": dialogues.settings(asked)},
        inputs={name: each for name, each in speakers.items() if each},
    )


def _evaluate(job: Job, config: RunConfig) -> dict[str, Any]:
    said = dialogues.evaluate(job, config)
    _write(job.folder)
    return said


def _exchange(job: Job, config: RunConfig) -> dict[str, Any]:
    names = {
        name: str(model_in(job.inputs[name]).resolve()) if name in job.inputs else ORACLE
        for name in ("asker", "writer")
    }
    said = dialogues.evaluate(job, replace(config, agent_args={**config.agent_args, **names}))
    _write(job.folder)
    return said


def _write(folder: Path) -> None:
    (folder / OUTCOMES).write_bytes(msgspec.json.encode(outcomes(folder)))


def written(folder: Path) -> tuple[Outcome, ...]:
    """Return the outcomes of a finished stage. Raises DataError if the file of outcomes is damaged."""
    return read(folder / OUTCOMES, tuple[Outcome, ...])


def outcomes(folder: Path) -> tuple[Outcome, ...]:
    """Return the outcome of each dialogue of an evaluation, in the order of tasks and trials.

    As in the harness's report, a failure of the agent counts as 0, and unscored dialogues are left out. Raises
    DataError if dialogues are missing.
    """
    run = RunFolder(folder / RUN)
    record, rollouts = run.record(), run.rollouts()
    wanted = record.tasks.count * record.config.trials
    if len(rollouts) != wanted:
        raise DataError(
            f"{folder} contains {len(rollouts)} of {wanted} dialogues; {rerun_advice(folder)}"
        )
    return tuple(_outcomes(rollouts))


def _outcomes(rollouts: Iterable[Rollout]) -> Iterator[Outcome]:
    for each in sorted(rollouts, key=lambda each: (each.task_id, each.trial)):
        score = each.scores.get("default")
        if score is None and each.agent_failed:
            score = get_domain(each.domain).lost("the agent failed")["default"]
        if score and score.value is not None and score.success is not None:
            spoken = [turn.agent_usage for turn in each.turns]
            yield Outcome(
                task=each.task_id,
                trial=each.trial,
                success=score.success,
                value=score.value,
                turns=len(each.turns),
                answered=each.ended_by == "answer",
                reply_tokens=sum(usage.completion_tokens for usage in spoken if usage),
                told=each.asking.told if each.asking else 0,
                hidden=each.asking.hidden if each.asking else 0,
            )
