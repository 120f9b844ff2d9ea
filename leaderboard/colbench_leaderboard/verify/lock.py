"""Checks that a bundle's lock is consistent with itself, with the receiver's tasks, and with the rules of its track."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from colbench.config import RunConfig, digest
from colbench.errors import UserError
from colbench.registry import domain_names, get_domain, package_of
from colbench.selection import select
from colbench.task import Task
from colbench.version import __version__
from colbench_leaderboard.bundle.lock_rules import size_flaws, text_flaws, uses_model
from colbench_leaderboard.bundle.redaction import FILES
from colbench_leaderboard.bundle.refused import shown
from colbench_leaderboard.bundle.schema import LOCK, SUBMISSION, Lock, Submission
from colbench_leaderboard.bundle.tracks import HUMAN, departures
from colbench_leaderboard.verify.findings import Findings
from colbench_leaderboard.verify.grid import tasks_hash
from colbench_leaderboard.verify.replay import CLASS, is_keyless

OURS = "colbench itself"
"""The package name that messages give for a domain that comes with ColBench."""


def run_config(lock: Lock, findings: Findings) -> RunConfig | None:
    """Return the run's configuration.

    If the configuration is invalid or has a number that is too large, add findings and return None.
    """
    try:
        config = msgspec.convert(lock.config, RunConfig)
        flaws = list(size_flaws(config))
    except msgspec.ValidationError as cause:
        flaws = [f"`config` is not a run configuration: {cause}"]
    for message in flaws:
        findings.add("lock.config", message, LOCK)
    return None if flaws else config


def selected(config: RunConfig, tasks: Sequence[Task], findings: Findings) -> list[Task]:
    """Return the receiver's own tasks that the run's `domain`, `task_ids` and `limit` select.

    If the receiver lacks a selected task or the domain, add a finding and return [].
    """
    try:
        return select(list(tasks), config)
    except UserError as cause:
        findings.add("lock.tasks", str(cause), LOCK)
        return []


def check(
    lock: Lock,
    config: RunConfig,
    tasks: Sequence[Task],
    findings: Findings,
    *,
    submission: Submission,
    packages: Sequence[str],
) -> None:
    """Add a finding for each rule that the lock breaks.

    `config`: the configuration in the lock. `tasks`: the receiver's own tasks that the run selects. `submission`: the
    bundle's description of the system. `packages`: the packages that answers may import on this machine.
    """
    flaws = (
        *(("lock.text", message) for message in text_flaws(lock)),
        *_itself(lock, config),
        *_mode(lock, config),
        *_tasks(lock, config, tasks),
    )
    for rule, message in flaws:
        findings.add(rule, message, LOCK)
    if set(config.sandbox_packages) != set(packages):
        message = (
            f"answers of the run could import {_listed(config.sandbox_packages)}, but the receiver allows "
            f"{_listed(packages)}; set --sandbox-packages to the packages of the run"
        )
        findings.add("lock.packages", message, LOCK)
    if uses_model(lock) and not submission.models:
        message = f"`models` is empty, but the agent {shown(config.agent)} uses a model"
        findings.add("lock.model", message, SUBMISSION)
    if submission.track == "standard":
        keyless = [] if is_keyless(lock) else ["its human is not the unchanged rule-based human"]
        for message in (*departures(lock), *keyless):
            findings.add("lock.standard", message, LOCK)


def _itself(lock: Lock, config: RunConfig) -> Iterator[tuple[str, str]]:
    if lock.digest != digest(lock.pins):
        yield "lock.digest", "`digest` does not match the pins"
    if changed := _changed(lock, config):
        yield "lock.pins", f"`config` and `pins` disagree on {', '.join(changed)}"
    human = lock.pins.get("human")
    if config.human == HUMAN and (not isinstance(human, dict) or human.get("class") != CLASS):
        yield "lock.pins", f"`human` is {HUMAN}, but `pins` has another human"
    if lock.pins.get("colbench") != lock.colbench:
        yield "lock.pins", "`colbench` and `pins` have different versions of ColBench"
    if lock.colbench != __version__:
        yield (
            "lock.version",
            f"made with colbench {lock.colbench}, verified with {__version__}",
        )
    yield from _domain_package(lock)


def own_package(lock: Lock) -> str:
    """Return the installed package of the run's domain; "" if the domain is ColBench's own or is not installed."""
    return package_of(lock.tasks.domain) if lock.tasks.domain in domain_names() else ""


def _domain_package(lock: Lock) -> Iterator[tuple[str, str]]:
    """Yield a violation if the package of the run's domain differs from the receiver's own package."""
    made, own = lock.domain_package, own_package(lock)
    if made != own:
        domain = shown(lock.tasks.domain)
        yield "lock.version", f"domain {domain} of {made or OURS}, verified with {own or OURS}"


def _changed(lock: Lock, config: RunConfig) -> list[str]:
    """Return the fields of the configuration that differ from their pins."""
    pinned = lock.pins.get("config")
    pinned = pinned if isinstance(pinned, dict) else {}
    stated = msgspec.structs.replace(config, agent_prompt=None, human_prompt=None).pins()
    stated |= {name: lock.config.get(name) for name in FILES}
    stated = msgspec.json.decode(msgspec.json.encode(stated))
    sent = lock.config.keys() | pinned.keys()
    return sorted(name for name in stated.keys() & sent if stated[name] != pinned.get(name))


def _mode(lock: Lock, config: RunConfig) -> Iterator[tuple[str, str]]:
    domain = lock.tasks.domain
    if domain in domain_names() and config.scoring not in get_domain(domain).modes:
        yield (
            "lock.config",
            f"`scoring` is {shown(config.scoring)}, which is not a scoring mode of {domain}",
        )


def _tasks(lock: Lock, config: RunConfig, tasks: Sequence[Task]) -> Iterator[tuple[str, str]]:
    stated = lock.tasks
    if any(task.domain != stated.domain for task in tasks):
        yield (
            "lock.domain",
            f"`domain` is {shown(stated.domain)}, but some of the receiver's tasks belong to another domain",
        )
    if stated.trials != config.trials:
        yield "lock.tasks", f"{stated.trials} trials, but `config` has {config.trials}"
    if stated.source != config.tasks:
        yield (
            "lock.tasks",
            f"`source` is {shown(stated.source)}, but `config` has {shown(config.tasks)}",
        )
    if stated.count != len(tasks):
        yield "lock.tasks", f"{stated.count} tasks, but the receiver has {len(tasks)}"
    elif stated.hash != (own := tasks_hash(tasks)):
        yield (
            "lock.tasks",
            f"tasks with the hash {stated.hash[:12]!a}, but the receiver's tasks have {own[:12]}",
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)) or "no package"
