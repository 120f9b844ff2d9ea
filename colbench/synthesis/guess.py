"""Direct guesses: an agent answers a request without asking anything. If a guess is right, the task is rejected."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.config import derive_seed
from colbench.dialogue import opened, read_move
from colbench.errors import AgentError, UserError, boundary
from colbench.interfaces import Agent, Episode, Scorer, StatefulAgent
from colbench.messages import Message, Usage
from colbench.registry import get_domain
from colbench.task import Task


class Guesser:
    """An agent that makes up to `tries` guesses at each task; messages and records call it `spec`."""

    def __init__(self, spec: str, agent: Agent | StatefulAgent, tries: int) -> None:
        self.agent = agent
        self.tries = tries
        self._spec = spec

    def __str__(self) -> str:
        times = "once" if self.tries == 1 else f"{self.tries} times"
        return f"--guess {self._spec.partition('@http')[0]} {times}"

    async def solves(
        self, task: Task, key: str, scorer: Scorer
    ) -> tuple[bool, tuple[Usage | None, ...]]:
        """Return two values: whether a guess scored 1, and the token usage of each guess.

        Guessing stops at the first success. The agent's seeds are derived from `key`. Raises UserError if the agent
        fails, EndpointError if the agent's server does not answer, and InfrastructureError if the scorer fails.
        """
        mode = get_domain(task.domain).modes[0]
        spent: list[Usage | None] = []
        for number in range(self.tries):
            answer, usage = await self._guess(task, derive_seed("guess", key, number))
            spent.append(usage)
            if (await scorer.score(task, answer))[mode].value == 1:
                return True, tuple(spent)
        return False, tuple(spent)

    async def _guess(self, task: Task, seed: int) -> tuple[str, Usage | None]:
        episode = Episode(id=f"{seed:08x}", seed=seed, max_turns=1, domain=task.domain)
        request: Sequence[Message] = (Message(role="user", content=task.request),)
        try:
            with boundary(AgentError):
                async with opened(self.agent, episode) as agent:
                    move = read_move(await agent.reply(request))
        except AgentError as error:
            raise UserError(f"--guess {self._spec}: the agent failed: {error}") from error
        return (move.said if move.answer is None else move.answer), move.usage
