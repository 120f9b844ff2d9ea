"""The guesser: an agent that answers in its first message, from the request alone, with the most common choices."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from colbench.interfaces import Agent, Episode
from colbench.registry import get_domain
from colbench.task import BACKEND, FRONTEND
from colbench_agents.designer import Draughtsman
from colbench_agents.interviewer import Interviewer


class Guesser:
    """An agent that never asks: the interviewer or, for pages, the designer, limited to an immediate answer."""

    domains = (BACKEND, FRONTEND)

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """Yield the guesser of one dialogue."""
        if get_domain(episode.domain).pictured:
            yield Draughtsman(max_turns=1)
        else:
            yield Interviewer(max_questions=0)
