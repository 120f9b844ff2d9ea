"""Results of an earlier attempt at a run, from the run's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from colbench.failures import is_own_fault
from colbench.rollout import Rollout
from colbench.rollout_file import RolloutReader


class Earlier(Mapping[str, Rollout]):
    """The dialogues of an earlier attempt that must be run or scored again, by key. Each dialogue is read on access.

    If every finished dialogue failed in the agent's own code, the finished dialogues are also included. The run counts
    these dialogues to decide whether the agent is broken.
    """

    def __init__(self, reader: RolloutReader) -> None:
        self.settled: set[str] = set()
        """Keys of the dialogues that are finished."""
        self.works = False
        """True if at least one finished dialogue did not fail in the agent's own code."""
        self._reader = reader
        self._places: dict[str, int] = {}
        self._faulty: dict[str, int] = {}

    def add(self, place: int, rollout: Rollout) -> None:
        """Add a dialogue whose line begins at the byte offset `place`."""
        if not rollout.settled:
            self._places[rollout.key] = place
            return
        self.settled.add(rollout.key)
        if rollout.failure is None or not is_own_fault(rollout.failure):
            self.works = True
            self._faulty.clear()
        elif not self.works:
            self._faulty[rollout.key] = place

    def __getitem__(self, key: str) -> Rollout:
        place = self._places.get(key)
        return self._reader.at(self._faulty[key] if place is None else place)

    def __iter__(self) -> Iterator[str]:
        yield from self._places
        yield from self._faulty

    def __len__(self) -> int:
        return len(self._places) + len(self._faulty)
