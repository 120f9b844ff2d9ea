"""A test of the sandbox: every attack of the corpus is scored like an answer, with honest answers during and after it.

Several lanes attack concurrently. Each lane has a sandbox with one worker, a scorer, and a canary (targets that must
remain untouched). One honest answer waits in the worker while the attack runs there, and another one follows the
attack; both must score 1. If the only fault is that an honest answer ran out of time, as happens on a loaded machine,
the attack is repeated, and the second result counts.
"""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack

import msgspec
from msgspec import Struct

from colbench.interfaces import Scorer
from colbench.sandbox.attacks.canary import Canary
from colbench.sandbox.attacks.corpus import Attack, attacks, controls
from colbench.sandbox.attacks.orphans import adopting_orphans, descendants
from colbench.sandbox.attacks.victim import VICTIM
from colbench.sandbox.box import CodeSandbox
from colbench.sandbox.jobs import Limits
from colbench.score import Score

LIMITS = Limits(cpu_seconds=0.2, wall_seconds=0.8)
"""Limits of a call, shorter than in an evaluation because many attacks use them up."""
BUDGET_SECONDS = 15.0
"""Time limit of an attack: more than twice the time that all calls of both scoring modes can take."""
BUDGET_BYTES = 400 << 20
"""Allowed growth of the harness's memory during all attacks together."""
_LATE = "ran out of time"
LANES = 4
"""Number of concurrent attacks."""
_CHECKS = 40


class Finding(Struct, frozen=True, kw_only=True):
    """The result of one attack or control."""

    kind: str
    name: str
    control: bool
    faults: tuple[str, ...]
    """Descriptions of the harm that the attack did, or of what failed with a control; empty if all is well."""

    @property
    def late(self) -> bool:
        """True if there are faults, and each fault is an honest answer that ran out of time."""
        return bool(self.faults) and all(fault.endswith(_LATE) for fault in self.faults)

    @property
    def ending(self) -> str:
        """The expected outcome as a phrase: `scored 1` for a control, `stopped` for an attack."""
        return "scored 1" if self.control else "stopped"


class Report(Struct, frozen=True, kw_only=True):
    """The results of attacking the code sandbox or the renderer."""

    environment: str
    findings: tuple[Finding, ...]

    @property
    def successes(self) -> tuple[Finding, ...]:
        """The attacks with at least one fault, without the controls."""
        return tuple(found for found in self.findings if found.faults and not found.control)

    @property
    def failed_controls(self) -> tuple[Finding, ...]:
        """The controls (honest answers or pages) with at least one fault."""
        return tuple(found for found in self.findings if found.faults and found.control)

    @property
    def sound(self) -> bool:
        """True if no attack and no control has a fault."""
        return not any(found.faults for found in self.findings)


async def attack_sandbox(
    judge: Callable[[CodeSandbox], Scorer],
    *,
    tier: str | None = None,
    allow_unsafe: bool = False,
    chosen: Sequence[Attack] = (),
    on_found: Callable[[Finding], None] = lambda _found: None,
) -> Report:
    """Attack a scorer with the attacks and controls in `chosen`, by default the complete corpus.

    `judge` builds the scorer on a sandbox. `tier` is the sandbox's tier, by default the strongest that works.
    `allow_unsafe` permits the tier that only limits resources. `on_found` is called with each finding. Attacks that try
    to hang run first because they take longest. Raises UserError if the tier is unknown, is not permitted, or does not
    work on this machine.
    """
    findings: list[Finding] = []
    waiting = iter(
        sorted(chosen or (*controls(), *attacks()), key=lambda attack: attack.aim != "hang")
    )
    with adopting_orphans():
        async with AsyncExitStack() as stack:
            lanes = [
                await _Lane.open(stack, judge, CodeSandbox(1, allow_unsafe, tier, limits=LIMITS))
                for _ in range(LANES)
            ]
            before = _Footprint()

            async def work_off(lane: _Lane) -> None:
                for attack in waiting:
                    found = await lane.attempt(attack)
                    findings.append(await lane.attempt(attack) if found.late else found)
                    on_found(findings[-1])

            await asyncio.gather(*map(work_off, lanes))
            findings.append(await before.compare())
            on_found(findings[-1])
            environment = lanes[0].environment
    return Report(environment=environment, findings=tuple(sorted(findings, key=_order)))


def _order(found: Finding) -> tuple[bool, str]:
    return found.control, found.kind


class _Lane:
    """A worker, its scorer, and the targets that an attack on the worker could touch."""

    def __init__(self, box: CodeSandbox, scorer: Scorer, canary: Canary) -> None:
        self._scorer = scorer
        self._canary = canary
        self.environment = box.environment

    @classmethod
    async def open(
        cls, stack: AsyncExitStack, judge: Callable[[CodeSandbox], Scorer], box: CodeSandbox
    ) -> _Lane:
        await stack.enter_async_context(box)
        lane = cls(box, judge(box), stack.enter_context(Canary()))
        await lane._scores(controls()[0])
        return lane

    async def attempt(self, attack: Attack) -> Finding:
        started = time.monotonic()
        control = attack.aim == "honest"
        waiting = asyncio.create_task(self._harm())
        try:
            faults = list(self._judged(await self._scores(attack), control))
        except (
            Exception
        ) as error:  # any effect of an attack on the harness is a success of the attack
            faults = [f"the harness failed: {type(error).__name__}: {error}"]
        took = time.monotonic() - started
        if took > BUDGET_SECONDS:
            faults.append(f"took {took:.1f} s instead of at most {BUDGET_SECONDS:g} s")
        if harm := await waiting:
            faults.append(f"an honest answer that waited behind the attack {harm}")
        if harm := await self._harm():
            faults.append(f"the next honest answer {harm}")
        faults += self._canary.traces()
        return Finding(kind=attack.kind, name=attack.name, control=control, faults=tuple(faults))

    async def _scores(self, attack: Attack) -> Mapping[str, Score]:
        """Return the score in each mode. Raises an error if the scores cannot be stored as JSON."""
        scores = await self._scorer.score(VICTIM, attack.answer(self._canary))
        msgspec.json.encode(scores)
        return scores

    def _judged(self, scores: Mapping[str, Score], control: bool) -> Iterator[str]:
        if control:
            score = scores["default"]
            if score.value != 1:
                yield _LATE if _is_late(score) else f"scored {score.value} instead of 1"
            return
        for mode, score in scores.items():
            if score.value != 0:
                yield f"scored {score.value} in {mode} mode"

    async def _harm(self) -> str:
        """Score an honest answer, and return a phrase that says how it failed; "" if it scored 1."""
        try:
            score = (await self._scores(controls()[0]))["default"]
        except Exception:
            return "failed"
        if score.value == 1:
            return ""
        return _LATE if _is_late(score) else "failed"


def _is_late(score: Score) -> bool:
    """Return True if an answer failed only because it ran out of time."""
    outcomes = {check.outcome for check in score.checks}
    return "timeout" in outcomes and outcomes <= {"passed", "timeout", "skipped"}


class _Footprint:
    """The harness's child processes and peak memory before the first attack, to compare with the state at the end."""

    def __init__(self) -> None:
        self._processes = descendants(os.getpid())
        self._peak = _peak_bytes()

    async def compare(self) -> Finding:
        """Wait for exiting processes, then report leftover and dead processes and the growth of memory."""
        for _ in range(_CHECKS):
            if descendants(os.getpid()) == self._processes:
                break
            await asyncio.sleep(0.05)
        return Finding(
            kind="afterwards",
            name="processes and memory",
            control=False,
            faults=tuple(self._faults(descendants(os.getpid()))),
        )

    def _faults(self, processes: frozenset[int]) -> Iterator[str]:
        if left := len(processes - self._processes):
            yield f"processes left over: {left}"
        if gone := len(self._processes - processes):
            yield f"sandbox processes that died: {gone}"
        if (growth := _peak_bytes() - self._peak) > BUDGET_BYTES:
            most = BUDGET_BYTES >> 20
            yield f"the harness's memory grew by {growth >> 20} MiB instead of at most {most} MiB"


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
