"""The check of an agent: one rule after another, with a time limit for each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from threading import Thread
from typing import Any, Literal

from msgspec import Struct

from colbench.cli.agents.rules import TURNS, AgentRules
from colbench.errors import AgentError, InfrastructureError, boundary
from colbench.interfaces import Checkable, Rule
from colbench.participants import start

Outcome = Literal["kept", "broken", "advice", "not applicable", "skipped"]
"""`advice`: the rule is broken, but it is only advice. `skipped`: the rule could not be checked."""
GRACE = 3.0
"""Seconds within which the check of a rule must end after it was canceled."""
STUCK = "the agent blocks the event loop or cannot be canceled"


class Verdict(Struct, frozen=True, kw_only=True):
    """The result of checking a rule."""

    rule: str
    outcome: Outcome
    reason: str = ""
    fix: str = ""
    see: str = ""


class Checking:
    """The check of one agent.

    `patience`: the time limit for one reply, in seconds. `show`: called with each verdict as soon as it is known.
    """

    def __init__(self, agent: Any, patience: float, show: Callable[[Verdict], None]) -> None:
        self.verdicts: list[Verdict] = []
        self._agent = agent
        self._show = show
        self._limit = (TURNS + 2) * patience + 2 * getattr(agent, "startup_timeout", patience)
        own = agent.conformance_rules(patience) if isinstance(agent, Checkable) else ()
        self.own: Sequence[Rule] = own
        self.general: Sequence[Rule] = AgentRules(agent, patience).rules()
        self._since = time.monotonic()
        self._error: BaseException | None = None

    @property
    def replies(self) -> int:
        """The maximum number of replies that are requested from the agent."""
        return sum(rule.replies for rule in (*self.own, *self.general))

    def run(self) -> bool:
        """Check every rule. Return False if the agent hangs; the checking thread is then still running.

        Raises the error that ended the check, such as UserError if the agent cannot be started, or if the agent's model
        server refuses the key.
        """
        worker = Thread(target=self._work, daemon=True, name="check")
        worker.start()
        while worker.is_alive():
            worker.join(0.1)
            if time.monotonic() - self._since > self._limit + GRACE:
                self._give_up()
                return False
        if self._error:
            raise self._error
        return True

    def _work(self) -> None:
        try:
            asyncio.run(self._judge_all())
        except BaseException as error:
            self._error = error

    async def _judge_all(self) -> None:
        for rule in self.own:
            await self._judge(rule, rule.needs)
        vital = {name for rule in self.own for name in rule.needs}
        if self._missing(tuple(vital)):
            for rule in self.general:
                await self._judge(rule, tuple(vital))
            return
        await asyncio.to_thread(getattr, self._agent, "domains", None)
        async with AsyncExitStack() as stack:
            self._since = time.monotonic()
            await start(stack, "agent", self._agent)
            for rule in self.general:
                await self._judge(rule, rule.needs)
        self._since = time.monotonic() - self._limit  # wait at most `GRACE` s for threads

    async def _judge(self, rule: Rule, needs: Sequence[str]) -> None:
        self._since = time.monotonic()
        missing = self._missing(needs)
        if missing:
            self._tell(rule, "skipped", f"requires “{missing}”, which was broken or skipped")
            return
        try:
            with boundary(AgentError):
                async with asyncio.timeout(self._limit) as limit:
                    reason = await rule.probe()
        except AgentError as error:
            late = AgentError(f"the check took longer than {self._limit:g} s", kind="timeout")
            found = late if limit.expired() else error
            self._fail(rule, "advice" if rule.advice else "broken", found)
        except InfrastructureError as error:
            self._tell(rule, "skipped", str(error))
        else:
            self._tell(rule, "not applicable" if reason else "kept", reason or "")

    def _missing(self, needs: Sequence[str]) -> str:
        """Return the first rule in `needs` that was broken, skipped or not applicable; "" without such a rule.

        A broken rule that is only advice does not count.
        """
        lost = (each.rule for each in self.verdicts if each.outcome not in ("kept", "advice"))
        return next((name for name in lost if name in needs), "")

    def _fail(self, rule: Rule, outcome: Outcome, error: AgentError) -> None:
        fix = rule.fix if isinstance(rule.fix, str) else rule.fix(error)
        self._tell(rule, outcome, str(error), fix)

    def _tell(self, rule: Rule, outcome: Outcome, reason: str = "", fix: str = "") -> None:
        verdict = Verdict(rule=rule.name, outcome=outcome, reason=reason, fix=fix, see=rule.see)
        self.verdicts.append(verdict)
        self._show(verdict)

    def _give_up(self) -> None:
        left = [*self.own, *self.general][len(self.verdicts) :]
        for number, rule in enumerate(left):
            if number == 0:
                late = f"no response within {self._limit:g} s: {STUCK}"
                self._fail(rule, "broken", AgentError(late, kind="timeout"))
            else:
                self._tell(rule, "skipped", "the agent did not respond")
