"""The rules of the standard track: a whole test set, the unchanged rule-based human, 10 turns, unchanged ColBench.

Also, answers may import only the standard library, and the run must not allow an unsafe sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from colbench.registry import domain_names, get_domain, installed_domains
from colbench.run_folder import VALUES
from colbench_leaderboard.bundle.schema import Lock

HUMAN = "keyless"
TURNS = 10


def own_sources() -> frozenset[str]:
    """Return the task sources that come with the installed domains; they are safe to load if a bundle names them."""
    return frozenset().union(*(domain.own_sources for domain in installed_domains()))


def is_standard(source: str) -> bool:
    """Return True if a task source belongs to the standard track in any installed domain."""
    return any(_size(source, domain.leaderboard_sets) for domain in installed_domains())


def departures(lock: Lock) -> list[str]:
    """Return the human-readable reasons why a run does not qualify for the standard track."""
    return [*_tasks(lock), *_rules(lock), *_harness(lock.commit)]


def _size(source: str, sets: Mapping[str, int]) -> int | None:
    return sets.get(source, sets.get(f"{source}/test"))


def _tasks(lock: Lock) -> Iterator[str]:
    source, count, domain = lock.tasks.source, lock.tasks.count, lock.tasks.domain
    sets = get_domain(domain).leaderboard_sets if domain in domain_names() else {}
    size = _size(source, sets)
    if size is None:
        allowed = (
            f"the track uses {', '.join(sets)}" if sets else "the track has no tasks of this domain"
        )
        yield f"its tasks are {source!a}; {allowed}"
    elif count != size:
        yield f"it has {count} of the {size} tasks of {source}"
    elif lock.config.get("limit") is not None or lock.config.get("task_ids"):
        yield "its tasks were chosen by `limit` or `task_ids`"


def _rules(lock: Lock) -> Iterator[str]:
    config = lock.config
    if config.get("max_turns") != TURNS:
        yield f"it allows {config.get('max_turns')!a} turns; the track has {TURNS}"
    if config.get("human") != HUMAN:
        yield f"its human is {config.get('human')!a}; the track uses {HUMAN}"
    elif config.get("human_args") or config.get("human_prompt"):
        yield "its human has custom arguments or a custom prompt"
    if config.get("sandbox_packages"):
        yield "its answers may import packages outside the standard library"
    if config.get("allow_unsafe_sandbox"):
        yield "an unsafe sandbox was allowed"


def _harness(commit: str) -> Iterator[str]:
    commits = commit.split(VALUES)
    if not all(commits):
        yield "its commit of ColBench is unknown, because ColBench did not run from a git checkout"
    elif any(each.endswith("-dirty") for each in commits):
        yield f"its checkout of ColBench had uncommitted changes: {commit}"
