"""Executors, which run the dialogues in this process, in several processes, or on the nodes of a cluster.

An executor is started before it takes the first cell, and then reports how answers are isolated. It takes cells from a
source and reports their outcomes to it; the source is the run's only queue (`colbench.cell_queue`). Executors with
several processes (`remote`) have a `worker` in each, which uses a `LocalExecutor`, and exchange `messages` with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from colbench.cell_queue import CellQueue


class Executor(Protocol):
    """An executor of the dialogues of a run, which is started and stopped as a context manager."""

    learned: dict[str, list[str]]
    """Properties of models and servers found during the run, by role; complete once the run has ended."""

    @property
    def isolation(self) -> str:
        """The isolation of answers from this machine; known once the executor has started."""
        ...

    @property
    def environments(self) -> Mapping[str, str]:
        """Versions and settings of tools, by domain; known once the executor has started."""
        ...

    async def __aenter__(self) -> Executor: ...

    async def __aexit__(self, *error: object) -> None: ...

    async def run(self, queue: CellQueue) -> None:
        """Run and score the cells of a queue until it is empty; raise the queue's errors."""
        ...
