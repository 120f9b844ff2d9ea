"""Pictures of agents' answers in a run, rendered on first view."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.errors import UserError
from colbench.presentation import Comparison, DialoguePictures
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.task import Task
from colbench.viewer.index import RunIndex


class RunPictures:
    """Pictures of the dialogues of one run, in any domain."""

    def __init__(self, run: RunIndex) -> None:
        self._run = run
        self._makers: dict[str, DialoguePictures | None] = {}

    def turns(self, rollout: Rollout) -> Sequence[int]:
        """Return the numbers, from 1, of the turns that have pictures; empty if the domain has no pictures."""
        maker = self._maker(rollout.domain)
        return maker.turns(rollout) if maker else ()

    def legend(self, rollout: Rollout) -> str:
        """Return the explanation of the pictures of differences; empty if the domain has no pictures."""
        maker = self._maker(rollout.domain)
        return maker.legend if maker else ""

    async def of(self, task: Task, rollout: Rollout, turn: int) -> Comparison:
        """Return a turn's pictures. Raises UserError if the turn has no pictures or this machine cannot render them."""
        maker = self._maker(rollout.domain)
        if maker is None or turn not in maker.turns(rollout):
            raise UserError(f"turn {turn} of this dialogue has no picture")
        return await maker.of(task, rollout, turn)

    async def close(self) -> None:
        """Stop the processes that render pictures."""
        for maker in filter(None, self._makers.values()):
            await maker.close()

    def _maker(self, domain: str) -> DialoguePictures | None:
        if domain not in self._makers:
            run = self._run
            environment = run.environments.get(domain, "")
            self._makers[domain] = get_domain(domain).dialogue_pictures(
                run.folder.path, run.config, environment
            )
        return self._makers[domain]
