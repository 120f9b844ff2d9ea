"""The reasons for failures: they select the dialogues that a run repeats, and show that an agent is broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from colbench.config_errors import did_you_mean
from colbench.errors import Boundary, Kind, UserError
from colbench.messages import split_thoughts
from colbench.rollout import Failure, Rollout, Turn

BOUNDARIES: tuple[str, ...] = get_args(Boundary)
KINDS = tuple(kind for kind in get_args(Kind) if kind)
REPLIES = ("empty", "cut", "filtered", "refused")
"""Delivery problems of an agent's reply that can be named as reasons, like kinds of failures."""
OWN_FAULTS = {"exception", "reply", "malformed"}
"""Kinds of an agent's failures that show a fault of its code, unlike a late reply or a dialogue that is too long."""
TOKEN_LIMIT = {role: f"--{role}-arg max_tokens=N" for role in ("agent", "human")}
"""Flags that set the token limits of replies, by role; named in errors about replies that the limit left empty."""
KNOWN = tuple(dict.fromkeys((*BOUNDARIES, *KINDS, *REPLIES)))


def read_reasons(reasons: str | Sequence[str], place: str = "retry_failed") -> tuple[str, ...]:
    """Return the reasons in a list or a comma-separated string.

    Raises UserError, which begins with `place`, for any other value and for an unknown reason.
    """
    words = reasons.split(",") if isinstance(reasons, str) else reasons
    if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise UserError(f"{place}: expected a reason or a list of reasons, got {reasons!r}")
    found = tuple(word.strip() for word in words if word.strip())
    for reason in found:
        parts = reason.split(":")
        if reason in KNOWN or (len(parts) == 2 and parts[0] in BOUNDARIES and parts[1] in KINDS):
            continue
        expected = (
            f"expected the part that failed ({', '.join(BOUNDARIES)}), the kind of failure "
            f"({', '.join(KINDS)}), PART:KIND (such as agent:timeout), or the problem of a reply "
            f"({', '.join(REPLIES)})"
        )
        hint = did_you_mean(reason, KNOWN, then=expected)
        raise UserError(f"{place} {reason}: unknown reason{hint}")
    return found


def matches(rollout: Rollout, reasons: Iterable[str]) -> bool:
    """Return True if one of the reasons matches the dialogue's failure, or a delivery problem of an agent's reply."""
    failure = rollout.failure
    own = (
        {failure.boundary, kind_of(failure), f"{failure.boundary}:{kind_of(failure)}"}
        if failure
        else set()
    )
    return any(
        reason in own or (reason in REPLIES and any(_came(turn, reason) for turn in rollout.turns))
        for reason in reasons
    )


def kind_of(failure: Failure) -> str:
    """Return the kind of a failure. If a file of an earlier version lacks the kind, derive it from the reason.

    Return "" if the kind cannot be derived.
    """
    if failure.kind:
        return failure.kind
    if failure.reason.startswith("no answer in time"):
        return "timeout"
    if "; it must return a Message" in failure.reason:
        return "reply"
    return "exception" if failure.boundary == "agent" else ""


def broken_agent(rollouts: Iterable[Rollout]) -> str:
    """Return an error message if the agent failed in every dialogue, otherwise "".

    Dialogues that failed for reasons unrelated to the agent are ignored.
    """
    failures, reason, own = 0, "", True
    for rollout in rollouts:
        if not rollout.settled:
            continue
        if rollout.failure is None:
            return ""
        failures, reason = failures + 1, rollout.failure.reason
        own = own and is_own_fault(rollout.failure)
    if not failures:
        return ""
    where = "in the agent's own code" if own else "because of the agent"
    return (
        f"every dialogue so far ({failures}) failed {where}, for example: {reason}; fix the agent; if "
        "this changes its code, use a new --out, because a run belongs to one version of the code; otherwise, add "
        "--retry-failed agent"
    )


def is_own_fault(failure: Failure) -> bool:
    """Return True for a fault of the agent's own code: an exception, a crash, or a reply that is not valid."""
    return failure.boundary == "agent" and kind_of(failure) in OWN_FAULTS


def is_empty(turn: Turn) -> bool:
    """Return True if the agent's reply has no text apart from its thoughts."""
    return not split_thoughts(turn.raw)[1].strip()


def _came(turn: Turn, reason: str) -> bool:
    delivery = turn.agent_delivery
    if reason == "empty":
        return is_empty(turn)
    if delivery is None:
        return False
    return {"cut": delivery.cut, "filtered": delivery.filtered, "refused": delivery.refused}[reason]
