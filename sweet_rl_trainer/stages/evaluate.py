"""A policy in dialogues that nothing is learnt from: `colbench eval`, as in `collect`.

FOLDER/run/          the run folder
FOLDER/report.txt    the report
"""

from __future__ import annotations

from typing import Any

from colbench.config import RunConfig
from colbench.run_folder import RunFolder
from sweet_rl_trainer.stages import collect
from sweet_rl_trainer.stages.stage import Job


def evaluate(job: Job, config: RunConfig) -> dict[str, Any]:
    """Make the run, and say the mean of its scores, and the share of successes where there are such."""
    said = collect.collect(job, config)
    rollouts = RunFolder(job.folder / collect.RUN).rollouts()
    scores = [each.scores.get(config.scoring) for each in rollouts]
    success = [score.success for score in scores if score and score.success is not None]
    return {
        **said,
        "score": sum((score and score.value) or 0.0 for score in scores) / len(scores),
        "success": sum(success) / len(scores) if success else None,
    }
