"""The division of a machine's limits among processes."""

from __future__ import annotations

from colbench.config import RunConfig, workers
from colbench.executors.messages import Share


def shares(
    config: RunConfig, dialogues: int, processes: int, *, cores: int | None = None
) -> list[Share]:
    """Return nearly equal shares of a machine's limits, one per process.

    Each share has at least one sandbox worker and one browser worker. If `config` does not set the total number of
    sandbox workers or of browser workers, this total is `cores`. The default of `cores` is the number of cores that
    this process may use.
    """
    cores = cores or workers(0)
    scoring, rendering = config.sandbox_workers or cores, config.browser_workers or cores
    return [
        Share(
            dialogues=_part(dialogues, processes, number),
            sandbox_workers=max(1, _part(scoring, processes, number)),
            browser_workers=max(1, _part(rendering, processes, number)),
        )
        for number in range(processes)
    ]


def _part(whole: int, parts: int, number: int) -> int:
    return whole // parts + (number < whole % parts)
