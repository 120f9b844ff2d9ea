"""Executors, which run the dialogues in this process, in several processes, or on the nodes of a cluster.

An executor takes cells (planned dialogues) from the run's queue (`colbench.cell_queue`), and reports their outcomes to
the queue. Once started, the executor can report how answers are isolated. An executor with several processes (`remote`)
exchanges `messages` with each process. Each process is a `worker`, which runs its cells with a `LocalExecutor`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from colbench.cell_queue import CellQueue


class Executor(Protocol):
    """A context manager that executes the dialogues of a run: it starts on entry and stops on exit."""

    learned: dict[str, list[str]]
    """Properties of models and servers found during the run, by role; complete once the run has ended."""

    @property
    def isolation(self) -> str:
        """Description of how answers are isolated from this machine; known once the executor has started."""
        ...

    @property
    def environments(self) -> Mapping[str, str]:
        """Versions and settings of tools, by domain; known once the executor has started."""
        ...

    async def __aenter__(self) -> Executor: ...

    async def __aexit__(self, *error: object) -> None: ...

    async def run(self, queue: CellQueue) -> None:
        """Run and score the dialogues in `queue` until the queue is empty.

        An error that stops the dialogues, such as a refused key, is passed to `queue.stop`. Raises the errors that the
        queue's methods raise. Raises UserError, or another ColBenchError, if the agent, the human or a process cannot
        be started.
        """
        ...
