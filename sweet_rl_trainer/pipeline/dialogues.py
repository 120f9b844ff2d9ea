"""Stages that run dialogues, either to learn from the dialogues or to evaluate a policy.

FOLDER/run/               the run folder; a killed run is resumed
FOLDER/run.config.json    the run's configuration
FOLDER/report.txt         the report
FOLDER/continuations/     continuations of recorded dialogues, for stages that need them
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.run_folder import RunFolder, RunRecord
from colbench.version import __version__
from sweet_rl_trainer.agents.continuations import HarnessContinuations
from sweet_rl_trainer.agents.dialogues import UNSCORED, run_dialogues
from sweet_rl_trainer.data.dialogue_measures import dialogue_measures, mean
from sweet_rl_trainer.pipeline.base import RUN, content, model_in
from sweet_rl_trainer.pipeline.inputs import run_folders
from sweet_rl_trainer.pipeline.recipe import MODEL_PLACEHOLDER, Recipe
from sweet_rl_trainer.pipeline.stage import Job
from sweet_rl_trainer.train.alarms import alarms

CONTINUATIONS = "continuations"
SCORES = ("scoring", "scorers", "clip_weights")
"""Settings that determine the scores of a run, but not its dialogues."""
CONTINUED = ("human", "human_args", "human_prompt", "told", "max_turns")
"""Settings that must not change when a dialogue is continued."""


def collect(job: Job, config: RunConfig) -> dict[str, Any]:
    """Run the dialogues, and return a summary. Raises UserError if the run fails or a dialogue has no score."""
    if MODEL_PLACEHOLDER in config.agent:
        folder = model_in(job.inputs["model"]).resolve()
        agent = config.agent.replace(MODEL_PLACEHOLDER, str(folder))
        config = replace(config, agent=agent)
    with (job.folder / "report.txt").open("wb") as report:
        code = run_dialogues(config, job.folder / RUN, report, progress=True)
    if code == UNSCORED:
        raise UserError(
            f"{job.folder}: some dialogues have no score; run the command again to retry them"
        )
    if code:
        raise UserError(
            f"{job.folder}: running the dialogues failed with exit code {code}; see the messages above. To start over, "
            "delete this folder"
        )
    return {"agent": config.agent}


def evaluate(job: Job, config: RunConfig) -> dict[str, Any]:
    """Run the dialogues, and return the mean score and the success rate, computed as in the harness's report.

    Both are None if no dialogue was scored. The success rate is also None in domains without a success criterion. The
    other `dialogue_measures` and alarms are returned as well.
    """
    summary = collect(job, config)
    rollouts = RunFolder(job.folder / RUN).rollouts()
    scores = [score for each in rollouts if (score := each.scores.get(config.scoring))]
    measured = dialogue_measures(rollouts, config.scoring)
    return {
        **summary,
        "score": mean(score.value for score in scores),
        "success": None,
        **measured,
        "dialogues": len(rollouts),
        "alarms": [text for _, text in alarms(measured)],
    }


def settings(config: RunConfig) -> dict[str, Any]:
    """Return the values that determine a run's dialogues and scores: the configuration, and the content of its files.

    Scoring settings with default values are left out, so that outputs older than these settings keep their keys.
    """
    values, defaults = (msgspec.to_builtins(each) for each in (config, RunConfig()))
    scores = {name: values[name] for name in SCORES if values[name] != defaults[name]}
    named = (
        *(spec.rpartition(":")[0] for spec in (config.agent, config.human)),
        *map(str, (*config.agent_args.values(), *config.human_args.values())),
        config.clip_weights or "",
    )
    files = {name: each for name in named if (each := content(name))}
    tasks = content(config.tasks) or __version__
    found = config.pins() | config.selection() | scores | {"content": tasks}
    return found | {"files": files} if files else found


def continuations(job: Job, recipe: Recipe, agent: str = "") -> HarnessContinuations:
    """Return a function that continues dialogues with the human and the settings of the first input run.

    Without `agent`, the agent of this run continues the dialogues. The executor is the recipe's or, if the recipe names
    no executor, the executor of this run. Raises UserError if the input runs differ in a setting that must be the same
    when a dialogue is continued.
    """
    first, *others = run_folders(job.inputs)
    record = RunFolder(first).record()
    for each in others:
        if names := _differing(record, RunFolder(each).record()):
            raise UserError(
                f"{each} differs from {first} in {', '.join(names)}, so their dialogues cannot be continued with the "
                "same settings; use runs with equal settings (data.runs or [[collect]]), or, for a critic's diagnosis, "
                "set diagnose.continuations = 0"
            )
    config = replace(record.config, executor=recipe.executor or record.config.executor)
    if agent:
        config = replace(config, agent=agent, agent_args={}, agent_prompt=None)
    return HarnessContinuations(job.folder / CONTINUATIONS, config)


def _differing(one: RunRecord, other: RunRecord) -> list[str]:
    """Return the names of the settings in `CONTINUED` in which two runs differ."""
    pins, others = one.pins["config"], other.pins["config"]
    return [name for name in CONTINUED if pins.get(name) != others.get(name)]
