"""What a run must be for the standard track, so that two entries differ in nothing but the agent."""

from __future__ import annotations

from collections.abc import Iterator

from colbench_leaderboard.bundle import Lock

SETS = {
    "bundled:backend/test": 1000,
    "bundled:frontend/test": 500,
    "official:backend/test": 1000,
    "official:frontend/test": 500,
    "websight:test": 500,
}
"""The tasks of the standard track: all of one of these sets."""
OWN = frozenset(
    {"bundled:backend", "bundled:backend/test", "bundled:frontend", "bundled:frontend/test"}
)
"""Sources that a bundle may name: they come with ColBench, so they are the receiver's own."""
HUMAN = "keyless"
TURNS = 10


def departures(lock: Lock) -> list[str]:
    """Why a run is not for the standard track, in words; empty where it is."""
    return [*_tasks(lock), *_rules(lock), *_harness(lock.commit)]


def is_standard(source: str) -> bool:
    """Whether this names one of the sets."""
    return _size(source) is not None


def _size(source: str) -> int | None:
    return SETS.get(source, SETS.get(f"{source}/test"))


def _tasks(lock: Lock) -> Iterator[str]:
    source, count = lock.tasks.source, lock.tasks.count
    size = _size(source)
    if size is None:
        yield f"its tasks are {source!a}; the track has {', '.join(SETS)}"
    elif count != size:
        yield f"it has {count} of the {size} tasks of {source}"
    elif lock.config.get("limit") is not None or lock.config.get("task_ids"):
        yield "its tasks were chosen by `limit` or `task_ids`"


def _rules(lock: Lock) -> Iterator[str]:
    config = lock.config
    if config.get("max_turns") != TURNS:
        yield f"it has {config.get('max_turns')!a} turns; the track has {TURNS}"
    if config.get("human") != HUMAN:
        yield f"its human is {config.get('human')!a}; the track has {HUMAN}"
    elif config.get("human_args") or config.get("human_prompt"):
        yield "its human has arguments or a prompt of its own"
    if config.get("sandbox_packages"):
        yield "its answers may import packages beside the standard library"
    if config.get("allow_unsafe_sandbox"):
        yield "it was allowed an unsafe sandbox"


def _harness(commit: str) -> Iterator[str]:
    if not commit:
        yield "the commit of its harness is not known, as it did not run from a checkout"
    elif commit.endswith("-dirty"):
        yield f"its harness was changed and not committed: {commit}"
