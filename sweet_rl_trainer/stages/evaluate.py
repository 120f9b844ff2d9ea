"""A policy in dialogues that nothing is learnt from: `colbench eval`, as in `collect`.

FOLDER/run/          the run folder
FOLDER/report.txt    the report
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from colbench.config import RunConfig
from colbench.run_folder import RunFolder
from sweet_rl_trainer.stages import collect
from sweet_rl_trainer.stages.stage import Job


def evaluate(job: Job, config: RunConfig) -> dict[str, Any]:
    """Make the run, and return the mean of its scores and the share of successes, as in the harness's report.

    They are None where no dialogue was scored, and the share also in domains without success.
    """
    said = collect.collect(job, config)
    rollouts = RunFolder(job.folder / collect.RUN).rollouts()
    scores = [score for each in rollouts if (score := each.scores.get(config.scoring))]
    return {
        **said,
        "score": _mean(score.value for score in scores),
        "success": _mean(score.success for score in scores),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None
