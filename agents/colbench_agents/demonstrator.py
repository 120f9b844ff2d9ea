"""Imperfect demonstrators: rule-based agents whose dialogues a language model learns to imitate.

The seed of a dialogue determines the demonstrator's persona: how early it answers, how many of its questions are
relevant, and how often its code contains a mistake. A model that imitates all personas is mediocre, and can improve by
choosing the best of the behaviors that it has learned. Like the interviewer, demonstrators know the families of tasks.
They learn a task's choices only from the dialogue, unless `knows` gives them the choices.

With `slips=False`, no code contains a mistake, so a dialogue fails only if a decision stays open or no answer is given.
With `persona="turn"`, each turn has its own persona, so the quality of one turn says nothing about the quality of
another turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Literal, get_args

from msgspec import Struct

from colbench.errors import AgentError, UserError
from colbench.interfaces import Agent, Episode
from colbench.messages import Message
from colbench.task import BACKEND
from colbench_agents.interviewer import MARKER, recognize, stated
from colbench_agents.reading import read
from colbench_tasks import generated
from colbench_tasks.designs import of
from colbench_tasks.family import Choice, Decision, Family, Theme, fill, statements

HASTE = (0.02, 0.1, 0.25)
"""Probabilities of answering in a turn although a decision is open; each persona draws one probability."""
FOCUS = (0.45, 0.65, 0.85)
"""Shares of questions that concern an open decision; each persona draws one share."""
SLIPS = (0.0, 0.05, 0.2)
"""Probabilities that the code makes a random choice for a decision; each persona draws one probability."""
KNOWING_FOCUS = 0.95
"""The share of questions that concern an open decision, for a demonstrator that knows the task's choices."""
LINGERS = 0.1
"""The probability of asking another question although no decision is open."""
MINDFUL = 0.7
"""The probability that a persona respects the turn limit. Otherwise, its last message may be a question."""
BESIDE = (
    "Which version of Python do you use?",
    "Should I add type hints?",
    "Do you want comments in the code?",
    "Is speed important?",
    "Will other people use this, too?",
    "Should wrong input raise an error?",
    "May I use a library for it?",
    "Do you have an example for me?",
    "Should it write a log?",
    "When do you need it?",
    "Do you need tests as well?",
    "Should it be a class?",
)
"""Irrelevant questions: they concern no decision of the task."""


Persona = Literal["dialogue", "turn"]
"""The scope of a persona: one persona for the whole dialogue, or a new persona in each turn."""


class Person(Struct, frozen=True, kw_only=True):
    """A persona: haste, focus and slips (see the constants), and whether the persona respects the turn limit."""

    haste: float
    focus: float
    slips: float
    mindful: bool


class Demonstrator:
    """An imperfect demonstrator: it asks about some decisions, and some of its code is wrong.

    `persona` is "dialogue" (one persona per dialogue) or "turn" (a new persona in each turn). `knows` is a source of
    generated tasks, such as `generated:backend/train?number=1000`. The demonstrator knows the choices of these tasks:
    it still asks, but its code is always correct. With `slips=False`, it makes no mistakes in code. Raises UserError if
    `knows` is not a source of generated tasks or `persona` has another value.
    """

    domains = (BACKEND,)

    def __init__(
        self, *, knows: str = "", slips: bool = True, persona: Persona = "dialogue"
    ) -> None:
        if persona not in get_args(Persona):
            expected = " or ".join(get_args(Persona))
            raise UserError(f"--agent-arg persona={persona}: expected {expected}")
        self._slips, self._persona = slips, persona
        source, _, argument = knows.partition(":")
        if knows and source != "generated":
            raise UserError(f"--agent-arg knows={knows}: expected generated:backend/SEED")
        tasks = generated.load(argument) if knows else []
        self._known = {task.request: design.chosen for task in tasks if (design := of(task))}
        self._knows = bool(knows)

    @asynccontextmanager
    async def open(self, episode: Episode) -> AsyncIterator[Agent]:
        """Yield a demonstrator for one dialogue."""
        random = Random(episode.seed)  # noqa: S311 - not for secrets
        known = self._known if self._knows else None
        yield _Speaker(self._draw, self._persona, random, episode.max_turns, known)

    def _draw(self, random: Random) -> Person:
        """Draw a persona."""
        return Person(
            haste=random.choice(HASTE),
            focus=KNOWING_FOCUS if self._knows else random.choice(FOCUS),
            slips=random.choice(SLIPS) if self._slips else 0.0,
            mindful=self._knows or random.random() < MINDFUL,
        )


class _Speaker:
    def __init__(
        self,
        draw: Callable[[Random], Person],
        persona: Persona,
        random: Random,
        max_turns: int,
        known: Mapping[str, Mapping[str, Choice]] | None,
    ) -> None:
        self._draw, self._persona = draw, persona
        self._person = draw(random)
        self._random, self._max_turns = random, max_turns
        self._known = known
        self._asked: Decision | None = None
        self._settled: dict[str, Choice] = {}

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        request = dialogue[0].content
        found = recognize(request)
        if found is None:
            raise AgentError(
                "the demonstrator does not know the task's family; use generated:backend/SEED or bundled:backend tasks"
            )
        family, theme = found
        self._hear(dialogue, family, theme)
        if self._persona == "turn" and len(dialogue) > 1:
            self._person = self._draw(self._random)
        last = len(dialogue) // 2 + 1 >= self._max_turns
        question = None if last and self._person.mindful else self._question(family, theme)
        content = question or f"{MARKER}\n{self._code(request, family, theme)}"
        return Message(role="assistant", content=content)

    def _hear(self, dialogue: Sequence[Message], family: Family, theme: Theme) -> None:
        if len(dialogue) == 1:
            self._settled = stated(dialogue[0].content, family, theme)
        elif self._asked and (choice := read(statements(self._asked, theme), dialogue[-1].content)):
            self._settled[self._asked.name] = choice

    def _question(self, family: Family, theme: Theme) -> str | None:
        """Return the next question; None if it is time to answer."""
        random, person = self._random, self._person
        still = [each for each in family.decisions if each.name not in self._settled]
        if random.random() < (person.haste if still else 1 - LINGERS):
            return None
        if still and random.random() < person.focus:
            self._asked = random.choice(still)
            return fill(random.choice(self._asked.asks), theme)
        self._asked = None
        return random.choice(BESIDE)

    def _code(self, request: str, family: Family, theme: Theme) -> str:
        if self._known is not None:
            if request not in self._known:
                raise AgentError(
                    "--agent-arg knows: no task of this source has this request; set `knows` to the run's task source"
                )
            return family.source(theme, self._known[request])
        heard = family.usual() | self._settled
        return family.source(
            theme, {d.name: self._slip(d, heard[d.name]) for d in family.decisions}
        )

    def _slip(self, decision: Decision, choice: Choice) -> Choice:
        slips = self._random.random() < self._person.slips
        return self._random.choice(decision.choices()) if slips else choice
