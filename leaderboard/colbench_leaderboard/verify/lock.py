"""The lock: whether it agrees with itself, and whether its run is one for these tasks and this track."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from colbench.config import RunConfig, digest
from colbench.errors import UserError
from colbench.task import Task
from colbench.version import __version__
from colbench_leaderboard.bundle import LOCK, Lock, Track
from colbench_leaderboard.log import is_time
from colbench_leaderboard.people import text_flaw
from colbench_leaderboard.refused import shown
from colbench_leaderboard.tracks import HUMAN, departures
from colbench_leaderboard.verify.findings import Findings
from colbench_leaderboard.verify.grid import tasks_hash
from colbench_leaderboard.verify.replay import CLASS, is_keyless

FILES = ("agent_prompt", "human_prompt")
"""In a lock they are the hashes of files' contents."""
MOST = {"trials": 100, "max_turns": 1000}
"""Of a run that is verified; each trial and turn has a place in the numbers."""
DEAREST = 1e6
"""US dollars for a million tokens."""
LONGEST = 300
"""Characters of a text of the lock that is shown."""

FORMS = {
    "started": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)",
    "commit": r"([0-9a-f]{7,40}(-dirty)?)?",
    "python": r"\d+\.\d+\.\d+\w*\+?",
    "colbench": r"\d+(\.\d+)*[\w.+-]*",
}
"""Of the lock's own texts: a time in UTC, a commit, versions."""


def run_config(lock: Lock, findings: Findings) -> RunConfig | None:
    """The run's configuration; None, with the reason among the findings, where it is none."""
    try:
        return msgspec.convert(lock.config, RunConfig)
    except msgspec.ValidationError as cause:
        findings.add("lock.config", f"`config` is no configuration of a run: {cause}", LOCK)
        return None


def selected(config: RunConfig, tasks: Sequence[Task], findings: Findings) -> list[Task]:
    """The receiver's own tasks that the run was about, by its `domain`, `task_ids` and `limit`."""
    from colbench.selection import select

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
    track: Track,
    packages: Sequence[str],
) -> None:
    """Note every rule that the lock breaks; `packages` are those that the receiver lets answers import."""
    flaws = (*_texts(lock), *_itself(lock, config), *_size(config), *_tasks(lock, config, tasks))
    for rule, message in flaws:
        findings.add(rule, message, LOCK)
    if set(config.sandbox_packages) != set(packages):
        message = (
            f"answers may import {_listed(config.sandbox_packages)}, the receiver has "
            f"{_listed(packages)}; it says which with --sandbox-packages"
        )
        findings.add("lock.packages", message, LOCK)
    if track == "standard":
        keyless = (
            [] if is_keyless(lock) else ["its human was resolved to another than the keyless one"]
        )
        for message in (*departures(lock), *keyless):
            findings.add("lock.standard", message, LOCK)


def _texts(lock: Lock) -> Iterator[tuple[str, str]]:
    for name, form in FORMS.items():
        text = getattr(lock, name)
        if not re.fullmatch(form, text, re.ASCII) or (name == "started" and not is_time(text)):
            yield "lock.text", f"`{name}` is {shown(text)!r}, which is none"
    for name, text in {**msgspec.to_builtins(lock), "tasks.source": lock.tasks.source}.items():
        if isinstance(text, str) and len(text) > LONGEST:
            yield "lock.text", f"`{name}` has {len(text)} characters, the most is {LONGEST}"
    for text in _strings(msgspec.to_builtins(lock)):
        if flaw := text_flaw(text):
            yield "lock.text", f"{shown(text)!r} {flaw}"


def _strings(value: object) -> Iterator[str]:
    """All texts in a value, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)


def _itself(lock: Lock, config: RunConfig) -> Iterator[tuple[str, str]]:
    if lock.digest != digest(lock.pins):
        yield "lock.digest", "`digest` is not that of the pins"
    if changed := _changed(lock, config):
        yield "lock.pins", f"`config` and `pins` do not agree on {', '.join(changed)}"
    human = lock.pins.get("human")
    if config.human == HUMAN and (not isinstance(human, dict) or human.get("class") != CLASS):
        yield "lock.pins", f"`human` is {HUMAN}, and `pins` has another in its place"
    if lock.pins.get("colbench") != lock.colbench:
        yield "lock.pins", "`pins` are of another version than `colbench`"
    if lock.colbench != __version__:
        yield (
            "lock.version",
            f"made with colbench {lock.colbench}, verified with {__version__}",
        )


def _changed(lock: Lock, config: RunConfig) -> list[str]:
    """The fields of the configuration that are pinned with another value than they have."""
    pinned = lock.pins.get("config")
    pinned = pinned if isinstance(pinned, dict) else {}
    stated = msgspec.structs.replace(config, agent_prompt=None, human_prompt=None).pins()
    stated |= {name: lock.config.get(name) for name in FILES}
    said = msgspec.json.decode(msgspec.json.encode(stated))
    sent = lock.config.keys() | pinned.keys()
    return sorted(name for name in said.keys() & sent if said[name] != pinned.get(name))


def _size(config: RunConfig) -> Iterator[tuple[str, str]]:
    for name, most in MOST.items():
        if getattr(config, name) > most:
            yield "lock.config", f"`{name}` is {getattr(config, name)}, the most is {most}"
    for name in ("agent_price", "human_price"):
        if max(getattr(config, name) or (0.0,)) > DEAREST:
            yield (
                "lock.config",
                f"`{name}`: the most is {DEAREST:,.0f} dollars for a million tokens",
            )


def _tasks(lock: Lock, config: RunConfig, tasks: Sequence[Task]) -> Iterator[tuple[str, str]]:
    said = lock.tasks
    if any(task.domain != said.domain for task in tasks):
        yield "lock.domain", f"`domain` is {said.domain}, and some of the tasks are of the other"
    if said.trials != config.trials:
        yield "lock.tasks", f"{said.trials} trials, where `config` has {config.trials}"
    if said.source != config.tasks:
        yield (
            "lock.tasks",
            f"`source` is {shown(said.source)}, where `config` has {shown(config.tasks)}",
        )
    if said.count != len(tasks):
        yield "lock.tasks", f"{said.count} tasks, of the receiver's own there are {len(tasks)}"
    elif said.hash != (own := tasks_hash(tasks)):
        yield (
            "lock.tasks",
            f"tasks with the hash {said.hash[:12]!a}, the receiver's have {own[:12]}",
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)) or "no package"
