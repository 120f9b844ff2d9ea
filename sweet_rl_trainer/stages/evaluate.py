"""A policy in dialogues that nothing is learnt from: `colbench eval`, as in `collect`.

FOLDER/run/          the run folder
FOLDER/report.txt    the report
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from colbench.config import RunConfig
from colbench.domain import get_domain
from colbench.report import cells
from colbench.run_folder import RunFolder
from sweet_rl_trainer.stages import collect
from sweet_rl_trainer.stages.stage import Job


def evaluate(job: Job, config: RunConfig) -> dict[str, Any]:
    """Make the run, and say the mean of its scores, and the share of successes, as the harness's report has them.

    None of dialogues that were not judged, and of pages no success.
    """
    said = collect.collect(job, config)
    rollouts = RunFolder(job.folder / collect.RUN).rollouts()
    scores = [
        cells.value(each, config.scoring, get_domain(each.domain).primary) for each in rollouts
    ]
    successes = [cells.success(each, config.scoring) for each in rollouts]
    return {**said, "score": _mean(scores), "success": _mean(successes)}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None
