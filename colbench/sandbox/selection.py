"""The choice of an isolation tier that works on this machine.

To find out if a tier works, a fork server is started with the tier's isolation, and must pass a self-test.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from colbench.errors import SandboxError, UserError
from colbench.sandbox.jobs import Job, JobResult, Limits
from colbench.sandbox.packages import Packages
from colbench.sandbox.tiers import TIERS, Tier
from colbench.sandbox.work import Work
from colbench.sandbox.worker import Worker

_SELF_TEST = """
import os, posix, socket, sys

def honest():
    return sorted([3, 1, 2])

def write():
    return posix.open("/tmp/colbench-self-test", os.O_CREAT | os.O_WRONLY)

def fork():
    return os.fork()

def execute():
    return os.execv(sys.executable, [sys.executable, "-c", ""])

def connect():
    return socket.socket()

def signal_parent():
    return os.kill(os.getppid(), 0)
"""
_ATTACKS = ("write()", "fork()", "execute()", "connect()", "signal_parent()")


class TierReport(Struct, frozen=True, kw_only=True):
    """A report on whether a tier works on this machine."""

    tier: str
    words: str
    """The tier's mechanisms, such as `bubblewrap+seccomp`."""
    works: bool
    safe: bool
    """True unless the tier only limits resources."""
    reason: str = ""
    """The reason why the tier does not work; "" if it works."""
    remedy: str = ""
    """Instructions to make the tier work."""


def probe() -> list[TierReport]:
    """Try every tier, and return the reports, strongest tier first. Do not call this from a running event loop."""
    return asyncio.run(_probe())


async def choose(
    name: str | None, allow_unsafe: bool, limits: Limits, packages: Packages
) -> tuple[Tier, Worker]:
    """Return a tier that works on this machine, and its first worker, which is already running.

    If `name` is given, the tier is the tier of this name; if `name` is None, it is the strongest permitted tier that
    works. Raises UserError if the name is unknown or not permitted, or if no such tier works. If no such tier works,
    the message gives the reason and the fix for each tier that was tried.
    """
    reasons = []
    for tier in _admissible(name, allow_unsafe):
        equipped = replace(tier, packages=packages)
        try:
            return equipped, await _try(equipped, limits)
        except SandboxError as error:
            reasons.append(f"{tier.name} ({tier.words}): {error}. To enable it: {tier.remedy}")
    if packages.names:
        reasons.append("if the reason is a package, leave it out of --sandbox-packages")
    which = f"the sandbox tier {name} does not work" if name else "no permitted sandbox tier works"
    raise UserError(f"{which} on this machine\n  " + "\n  ".join(reasons))


def _admissible(name: str | None, allow_unsafe: bool) -> list[Tier]:
    tiers = [tier for tier in TIERS if name in (None, tier.name)]
    if not tiers:
        known = ", ".join(tier.name for tier in TIERS)
        raise UserError(f"unknown sandbox tier {name}; known: {known}")
    safe = [tier for tier in tiers if tier.safe or allow_unsafe]
    if not safe:
        raise UserError(f"sandbox tier {name} is unsafe; add --allow-unsafe-sandbox to use it")
    return safe


async def _probe() -> list[TierReport]:
    return [await _report(tier) for tier in TIERS]


async def _report(tier: Tier) -> TierReport:
    reason = ""
    try:
        (await _try(tier, Limits())).close()
    except SandboxError as error:
        reason = str(error)
    return TierReport(
        tier=tier.name,
        words=tier.words,
        works=not reason,
        safe=tier.safe,
        reason=reason,
        remedy=tier.remedy,
    )


async def _try(tier: Tier, limits: Limits) -> Worker:
    """Start a worker of this tier and run the self-test. Raises SandboxError, which says what failed."""
    worker = await Worker.start(tier, limits)
    try:
        await _self_test(worker, tier, limits)
    except BaseException:
        worker.close()
        raise
    return worker


async def _self_test(worker: Worker, tier: Tier, limits: Limits) -> None:
    calls = ("honest()", *_ATTACKS) if tier.safe else ("honest()",)
    work = Work(Job(source=_SELF_TEST, calls=calls), limits)
    while work.left:
        work.absorb(await worker.run(work.payload(), work.left))
    if fault := self_test_fault(work.result()):
        raise SandboxError(fault)


def self_test_fault(result: JobResult) -> str:
    """Return a description of the fault that the self-test found; "" if the tier passes."""
    honest, *attacks = result.calls["module"]
    if honest.value != b"[1, 2, 3]":
        how = result.invalid or honest.message or f"the result was {honest.value.decode()}"
        return f"the self-test ran harmless code, which failed: {how}"
    for call, attack in zip(_ATTACKS, attacks, strict=False):
        if attack.status == "value":
            return f"the self-test called {call}, which was not blocked"
        if "PermissionError" not in attack.message:
            how = attack.message or "it was skipped"
            return f"the self-test called {call}, which did not fail with a PermissionError: {how}"
    return ""
