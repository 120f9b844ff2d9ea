"""Vetting of tasks that a model wrote: the request must reveal little, and the calls must distinguish answers.

The reference runs only in the sandbox, as for scoring, and never in this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from colbench.domains.backend.references import Expected, References
from colbench.domains.backend.scorer import UnitTestScorer
from colbench.interfaces import RejectedError
from colbench.leaks import audit
from colbench.sandbox import CodeSandbox
from colbench.sandbox.values import equal
from colbench.task import SIGNATURE, Task

MOST_LITERALS = 0.5
"""Maximum share of the reference's numbers and strings in a request; 7% of 400 official requests exceed it."""
MOST_NGRAMS = 0.1
"""Maximum share of the reference's four-token sequences in a request."""
FEWEST_VALUES = 3
NONE = b"null"
"""The sandbox's encoding of None."""


async def vet(task: Task, box: CodeSandbox) -> None:
    """Raise RejectedError if the request gives the reference away, or if the reference is unsuitable for scoring.

    Raises SandboxError if the sandbox fails.
    """
    _check_request(task)
    await asyncio.to_thread(_check_values, await References(box).of(task))
    for mode, score in (await UnitTestScorer(box).score(task, task.hidden.reference)).items():
        if score.value != 1:
            lost = next((check for check in score.checks if check.outcome != "passed"), None)
            said = score.note or (f"{lost.outcome} on {lost.call}: {lost.actual}" if lost else "")
            raise RejectedError(
                "unofficial", f"the reference scores {score.value} in {mode} mode: {said}"
            )


def _check_request(task: Task) -> None:
    """Raise RejectedError if the request gives away too much of the reference.

    The function's signature does not count, because an agent needs to see it.
    """
    beyond = SIGNATURE.search(task.request)
    said, signature = (
        (task.request[: beyond.start()], task.request[beyond.start() :])
        if beyond
        else (task.request, "")
    )
    leak = audit(replace(task, request=signature), "", said)
    if leak.literals > MOST_LITERALS:
        raise RejectedError(
            "gives_away",
            f"the request contains {leak.literals:.0%} of the reference's numbers and texts",
        )
    if leak.ngrams > MOST_NGRAMS:
        raise RejectedError("gives_away", f"the request quotes {leak.ngrams:.0%} of the reference")


def _check_values(expected: Sequence[Expected]) -> None:
    for item in expected:
        if item.standing == "unscorable":
            raise RejectedError("fails", f"{item.call}: {item.shown}")
    for item in expected:
        if item.standing == "unstable":
            raise RejectedError("unstable", f"{item.call}: {item.shown}, then another value")
    for item in expected:
        if item.value == NONE:
            raise RejectedError("none", item.call)
    different: list[Expected] = []
    for item in expected:
        if not any(equal(item.value, other.value) for other in different):
            different.append(item)
    if len(different) < FEWEST_VALUES:
        shown = ", ".join(item.shown for item in different)
        raise RejectedError("constant", f"only {shown}")
