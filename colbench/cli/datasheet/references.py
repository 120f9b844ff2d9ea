"""What references give when they are run in the sandbox: kinds of values, how many different ones, and flaws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from colbench.domains.backend.references import Expected
from colbench.domains.backend.scorer import Validation
from colbench.sandbox.values import equal, kind

FLAWS = {
    "all calls give the same value": "an answer need not look at its arguments",
    "all calls give None": "in the official mode no answer can pass",
    "some call gives None": "in the official mode no answer can pass it",
    "some call raises": "or does not end in time, or gives more than 1 MiB; it is left out in the default mode",
    "some call gives another value the second time": "it is left out",
    "some value cannot be compared": "being of an unsupported type; it is left out in the default mode",
    "no call can be scored": "the task is in no denominator",
    "the reference does not score 1": "in the default mode",
    "the reference does not score 1 officially": "in the official mode, the released scorer's",
}
"""What can be wrong with a task, and what it means."""


class Outputs(Struct, frozen=True, kw_only=True):
    """Over all tasks of backend programming."""

    tasks: int
    kinds: Counter[str]
    """Values by type, over all calls."""
    distinct: Counter[int]
    """Tasks by how many different values their calls give."""
    flaws: Counter[str]
    """Tasks by flaw; see `FLAWS`."""


def outputs(validations: Sequence[Validation]) -> Outputs:
    """What validating each task found, added up."""
    values = [_values(found.expected) for found in validations]
    return Outputs(
        tasks=len(validations),
        kinds=Counter(kind(value) for each in values for value in each),
        distinct=Counter(map(_different, values)),
        flaws=Counter(flaw for found in validations for flaw in _flaws(found)),
    )


def _values(expected: Sequence[Expected]) -> list[bytes]:
    return [item.value for item in expected if item.value]


def _different(values: Sequence[bytes]) -> int:
    seen: list[bytes] = []
    for value in values:
        if not any(equal(value, other) for other in seen):
            seen.append(value)
    return len(seen)


def _flaws(found: Validation) -> Iterator[str]:
    values = _values(found.expected)
    kinds = [kind(value) for value in values]
    unscorable = [item for item in found.expected if item.standing == "unscorable"]
    present = {
        "all calls give the same value": found.constant,
        "all calls give None": set(kinds) == {"None"} and len(kinds) == len(found.expected),
        "some call gives None": "None" in kinds,
        "some call raises": any(not item.value for item in unscorable),
        "some call gives another value the second time": bool(found.unstable),
        "some value cannot be compared": any(item.value for item in unscorable),
        "no call can be scored": found.scores["default"].value is None,
        "the reference does not score 1": found.scores["default"].value not in (1, None),
        "the reference does not score 1 officially": found.scores["official"].value != 1,
    }
    return (flaw for flaw in FLAWS if present[flaw])
