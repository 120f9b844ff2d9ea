"""Dialogues as a stage: collected to learn from, or to evaluate a policy.

FOLDER/run/               the run folder, which is resumed if the stage was killed
FOLDER/run.config.json    the run's configuration
FOLDER/report.txt         the report
FOLDER/continuations/     continuations of recorded dialogues, for stages that need them
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import UserError
from colbench.run_folder import RunFolder
from colbench.version import __version__
from sweet_rl_trainer.agents.continuations import HarnessContinuations
from sweet_rl_trainer.agents.dialogues import UNSCORED, run_dialogues
from sweet_rl_trainer.data.dialogue_measures import dialogue_measures, mean
from sweet_rl_trainer.model.digest import file_digest
from sweet_rl_trainer.pipeline.base import RUN, model_in
from sweet_rl_trainer.pipeline.inputs import run_folders
from sweet_rl_trainer.pipeline.recipe import MODEL_PLACEHOLDER, Recipe
from sweet_rl_trainer.pipeline.stage import Job
from sweet_rl_trainer.train.alarms import alarms

CONTINUATIONS = "continuations"


def collect(job: Job, config: RunConfig) -> dict[str, Any]:
    """Run the dialogues. Raises UserError if some of them have no score."""
    if MODEL_PLACEHOLDER in config.agent:
        folder = model_in(job.inputs["model"]).resolve()
        agent = config.agent.replace(MODEL_PLACEHOLDER, str(folder))
        config = replace(config, agent=agent)
    with (job.folder / "report.txt").open("wb") as report:
        code = run_dialogues(config, job.folder / RUN, report, progress=True)
    if code == UNSCORED:
        raise UserError(
            f"collect: some dialogues of {job.folder} have no score; run the command again to retry them"
        )
    if code:
        raise UserError(
            f"collect: running the dialogues failed with exit code {code}; see the messages above. To start over, "
            f"delete {job.folder}"
        )
    return {"agent": config.agent}


def evaluate(job: Job, config: RunConfig) -> dict[str, Any]:
    """Run the dialogues, and return the mean score and the success rate, as in the harness's report.

    Both are None if no dialogue was scored; the success rate is also None in domains without a success criterion. The
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
    """Return the values that determine a run's dialogues: the configuration and the content of the tasks."""
    file = Path(config.tasks).expanduser()
    tasks = file_digest(file) if file.is_file() else __version__
    return config.pins() | config.selection() | {"content": tasks}


def continuations(job: Job, recipe: Recipe, agent: str = "") -> HarnessContinuations:
    """Return a function that continues dialogues with the human and the settings of the first input run.

    The agent and the executor of this run are also used, unless `agent` or the recipe names others.
    """
    config = RunFolder(run_folders(job.inputs)[0]).record().config
    config = replace(config, executor=recipe.executor or config.executor)
    if agent:
        config = replace(config, agent=agent, agent_args={}, agent_prompt=None)
    return HarnessContinuations(job.folder / CONTINUATIONS, config)
