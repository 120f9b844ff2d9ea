"""What a reader must know before the numbers: they are not those asked for, or not the run's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from colbench.config import RunConfig
from colbench.report.model import RunReport
from colbench.rollout import Rollout
from colbench.run_folder import RunRecord


def warnings(
    report: RunReport, config: RunConfig, record: RunRecord, rollouts: Sequence[Rollout]
) -> Iterator[str]:
    """One line for each."""
    pages = report.domains.get("frontend")
    if pages and pages.mode != config.scoring:
        yield (
            f"--scoring {config.scoring}: pages have no {config.scoring} verdict without CLIP's weights, so "
            f"{pages.mode} scores are shown; `colbench score RUN --clip-weights PATH` adds it"
        )
    played = record.pins.get("browser", {}).get("environment")
    scored = {
        score.environment
        for rollout in rollouts
        if rollout.domain == "frontend"
        for score in rollout.scores.values()
    }
    if played and (others := scored - {played, ""}):
        yield (
            "pages were scored with another browser than the run's, so scores may differ: "
            f"{' and '.join(sorted(others))}; the run's: {played}"
        )
