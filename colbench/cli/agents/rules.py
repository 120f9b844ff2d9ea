"""The rules of agents/README.md, and the checks of these rules that `colbench agents check` runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from colbench.agent_process.python import PythonAgent
from colbench.cli.agents.scripted import ANY_TEXT, FAR_OFF, Played, Script, white_picture
from colbench.config import RunConfig
from colbench.errors import AgentError, UserError
from colbench.interfaces import Agent, Checkable, Rule, StatefulAgent
from colbench.participants import describe_for
from colbench.registry import domain_names, get_domain

PAGE = "agents/README.md"
DOMAINS = tuple(domain_names())
REPLIES = "Replies to a request"
TURNS = RunConfig().max_turns
SUSTAINS = f"Sustains a dialogue of up to {TURNS} turns"
FEW_TURNS = 3
A_MOMENT = 0.2
"""Seconds after which a check interrupts a dialogue, to find out whether the agent survives the interruption."""
TICK = 0.05
"""Seconds between two measurements of how long the agent blocks the event loop."""
STANDSTILL = 1.0
"""Maximum number of seconds for which an agent may block the event loop."""
REPLY = (
    "Return a str or a colbench.messages.Message, from `async def reply(self, dialogue)` of a class, or "
    "from the function itself."
)
RAISED = "This error comes from your code, not from ColBench."
FORMS_OF_MESSAGES = (
    "A class receives messages with `.content`, a function receives dictionaries with "
    '`message["content"]`.'
)
OTHER_FORM = re.compile(r"(AttributeError|TypeError): '(dict|Message)' object")
"""Errors of code that expects dictionaries and gets objects of the class Message, or the other way around."""
LATE = "Reply faster, or set a longer --timeout."
TOO_LONG = "Use a model with a longer context, or a shorter prompt."
BY_KIND = {"timeout": LATE, "context": TOO_LONG}
"""Advice for kinds of errors that have the same fix, whichever rule was broken."""
REPLY_OUTSIDE = "Answer every `messages` with one `reply`, at any time during a run."
WHOLE = "Every call gets the whole dialogue; the agent need not remember earlier calls."
PICTURE = white_picture(256)


class AgentRules:
    """The rules for one agent, which must be started before its dialogues are checked.

    `patience` is the time limit of one reply, in seconds.
    """

    def __init__(self, agent: Agent | StatefulAgent, patience: float) -> None:
        self._agent = agent
        self._patience = patience
        self._played: Played | None = None
        self._standstill = 0.0

    def rules(self) -> list[Rule]:
        """Return the rules in the order of checking."""
        own = () if isinstance(self._agent, Checkable) else self._of_this_process()
        return [*own, *self._of_one_dialogue(), *self._of_several()]

    def _of_this_process(self) -> list[Rule]:
        """Return the rules for agents in Python; agents over stdin and stdout or over HTTP have their own rules."""
        return [
            _rule(
                "Names installed domains",
                self._domains,
                fix=f"Set `domains` to a tuple of these: {', '.join(DOMAINS)}; or leave it out.",
            ),
            _rule(
                "Has the same description every time",
                self._described,
                fix="Leave values that change by themselves out of `describe()`: a run is "
                "resumed only if the description is unchanged.",
            ),
        ]

    def _of_one_dialogue(self) -> list[Rule]:
        needs, several = (REPLIES,), (REPLIES, SUSTAINS)
        outside = isinstance(self._agent, Checkable)
        rules = [
            _rule(
                REPLIES,
                self._replied,
                replies=TURNS,
                fix=_fix_reply_outside if outside else _fix_reply,
            ),
            _rule(
                SUSTAINS,
                self._kept_up,
                needs=needs,
                fix=_fix_sustain,
            ),
            _rule(
                "Sends no empty reply",
                self._said_something,
                needs=needs,
                fix="Check what the model or program returns at that point; the human has "
                "nothing to read.",
            ),
            _rule(
                "Gives an answer",
                self._answered,
                needs=several,
                advice=True,
                fix="Write `I WANT TO ANSWER:` and the answer; without this marker the whole "
                "last message is the answer.",
            ),
        ]
        if outside:
            return rules
        return [
            *rules,
            _rule(
                "Does not block other dialogues",
                self._let_others_go_on,
                needs=needs,
                advice=True,
                fix="Await slow calls, or run them in asyncio.to_thread.",
            ),
        ]

    def _of_several(self) -> list[Rule]:
        needs, several = (REPLIES,), (REPLIES, SUSTAINS)
        return [
            _rule(
                "Can repeat the same dialogue",
                self._again,
                needs=needs,
                replies=2,
                fix="In `open` or at `start`, reset all state that is kept for the dialogue's ID.",
            ),
            _rule(
                "Survives an interrupted dialogue",
                self._broken_off,
                needs=several,
                replies=4,
                fix="Always release resources, because a reply can be canceled and a request can be interrupted.",
            ),
            _rule(
                "Keeps concurrent dialogues separate",
                self._apart,
                needs=several,
                replies=2 * FEW_TURNS,
                fix="Share no state between dialogues; an agent holds many dialogues at a time.",
            ),
            _rule(
                "Accepts any text",
                self._any_text,
                needs=needs,
                replies=1,
                fix="Read and write UTF-8, and do not insert messages into templates or shell "
                "commands.",
            ),
            _rule(
                "Does not fail on tasks of other domains",
                self._other_domain,
                needs=needs,
                replies=1,
                fix=f'Check the `domain` of the dialogue, or set `domains` to ["{DOMAINS[0]}"].',
            ),
            _rule(
                "Accepts pictures",
                self._pictures,
                needs=several,
                replies=2,
                fix="The human's messages may contain pictures (PNG); without `accepts_images` none are sent.",
            ),
        ]

    @property
    def _domain(self) -> str:
        return self._known_domains[0]

    @property
    def _known_domains(self) -> Sequence[str]:
        given: Sequence[str] = getattr(self._agent, "domains", None) or DOMAINS
        return [domain for domain in given if domain in DOMAINS] or DOMAINS

    async def _domains(self) -> None:
        given: Any = getattr(self._agent, "domains", None)
        if given is None:
            return
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise AgentError(f"`domains` is {given!r}, which is neither a tuple nor a list")
        if unknown := [each for each in given if each not in DOMAINS]:
            raise AgentError(f"`domains` contains {unknown[0]!r}, which is not an installed domain")

    async def _described(self) -> None:
        try:
            first, again = await self._descriptions()
        except UserError as cause:
            raise AgentError(str(cause)) from cause
        for name in first.keys() | again.keys():
            if first.get(name) != again.get(name):
                raise AgentError(
                    f"`{name}` was {first.get(name)!r} when first read, but {again.get(name)!r} when "
                    "read again"
                )

    async def _descriptions(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return two descriptions of the agent.

        If a Python agent has its own process, the second description comes from a new process.
        """
        if isinstance(self._agent, PythonAgent):
            return self._agent.describe(), (await self._agent.introduce()).description
        first = describe_for(self._agent, self._known_domains)
        return first, describe_for(self._agent, self._known_domains)

    async def _replied(self) -> None:
        script = Script(domain=self._domain, turns=TURNS)
        watching = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        try:
            self._played = await self._play(script)
            await asyncio.sleep(2 * TICK)
        finally:
            watching.cancel()
        if not self._played.turns:
            self._played.passed()

    async def _watch(self) -> None:
        """Measure how long the agent blocks everything else."""
        clock = asyncio.get_running_loop().time
        while True:
            before = clock()
            await asyncio.sleep(TICK)
            self._standstill = max(self._standstill, clock() - before - TICK)

    async def _kept_up(self) -> None:
        had = self._had
        if had.failure:
            place = f"in turn {len(had.turns) + 1}"
            raise AgentError(f"{place}: {had.failure}", kind=had.failure.kind) from had.failure

    async def _said_something(self) -> None:
        for number, turn in enumerate(self._had.turns, 1):
            if not turn.raw.strip():
                raise AgentError(f"its reply in turn {number} is empty")

    async def _answered(self) -> None:
        if self._had.ending and self._had.ending.ended_by == "limit":
            raise AgentError(f"it did not write `I WANT TO ANSWER:` in {TURNS} turns")

    async def _let_others_go_on(self) -> str | None:
        if isinstance(self._agent, PythonAgent):
            return "the agent runs in its own process; --in-process checks this rule"
        if self._standstill > STANDSTILL:
            raise AgentError(
                f"the agent blocked the event loop for {self._standstill:.1f} s, so no other dialogue could run"
            )
        return None

    async def _again(self) -> None:
        script = Script(domain=self._domain, id=f"check-{uuid4().hex[:10]}")
        (await self._play(script)).passed()
        (await self._play(script)).passed()

    async def _broken_off(self) -> None:
        await self._play(Script(domain=self._domain, turns=2), limit=A_MOMENT)
        (await self._play(Script(domain=self._domain, turns=2))).passed()

    async def _apart(self) -> None:
        names = [f"{word}_{uuid4().hex[:4]}" for word in ("harbour", "meadow")]
        scripts = [Script(domain=self._domain, name=name, turns=FEW_TURNS) for name in names]
        both = await asyncio.gather(*map(self._play, scripts))
        for played, own, other in zip(both, names, reversed(names), strict=True):
            if any(other in turn.raw for turn in played.passed().turns):
                raise AgentError(
                    f"in the dialogue that asked for {own}, it mentioned {other} from another dialogue"
                )

    async def _any_text(self) -> None:
        (await self._play(Script(domain=self._domain, before=ANY_TEXT))).passed()

    async def _other_domain(self) -> str | None:
        if len(self._known_domains) == 1:
            return f"it supports only {self._domain}"
        for other in self._known_domains[1:]:
            (await self._play(Script(domain=other))).passed()
        return None

    async def _pictures(self) -> str | None:
        pictured = [name for name in self._known_domains if get_domain(name).pictured]
        if not pictured:
            return "it is for domains without pictures"
        if not getattr(self._agent, "accepts_images", False):
            return "it does not accept images"
        played = (await self._play(Script(domain=pictured[0], picture=PICTURE, turns=2))).passed()
        return "it answered before a picture was shown" if len(played.turns) == 1 else None

    async def _play(self, script: Script, limit: float = FAR_OFF) -> Played:
        return await script.play(self._agent, self._patience, limit)

    @property
    def _had(self) -> Played:
        if self._played is None:
            raise AssertionError(f"{REPLIES} is needed")
        return self._played


def _fix_reply(error: AgentError) -> str:
    """Return advice for a Python agent that did not reply."""
    if error.kind != "exception":
        return BY_KIND.get(error.kind, REPLY)
    return f"{RAISED} {FORMS_OF_MESSAGES}" if OTHER_FORM.match(str(error)) else RAISED


def _fix_reply_outside(error: AgentError) -> str:
    """Return advice for a program or a server that did not reply."""
    return BY_KIND.get(error.kind, REPLY_OUTSIDE)


def _fix_sustain(error: AgentError) -> str:
    """Return advice for an agent that failed after its first reply."""
    return BY_KIND.get(error.kind, WHOLE)


def _rule(name: str, probe: Any, *, fix: str | Callable[[AgentError], str], **more: Any) -> Rule:
    return replace(Rule(name=name, fix=fix, see=PAGE, probe=probe), **more)
