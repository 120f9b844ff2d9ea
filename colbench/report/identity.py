"""The pins of a run: everything that its numbers depend on, in the form shown on the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from colbench.numbers import count
from colbench.report.model import RunReport
from colbench.run_folder import RunRecord


class Pin(Struct, frozen=True, kw_only=True):
    """One line about the run: a setting as given, and its resolved value."""

    name: str
    given: str = ""
    """The setting as given, such as an agent's spec; shown as code."""
    text: str = ""
    details: tuple[str, ...] = ()


def pins(report: RunReport, record: RunRecord) -> Iterator[Pin]:
    """Yield the pins of a run."""
    tasks = {"count": record.tasks.count, "sha256": record.tasks.hash}
    yield _resolved("Agent", report.agent, record.pins.get("agent"))
    yield _resolved("Human", report.human, record.pins.get("human"))
    yield _resolved("Tasks", report.tasks, tasks)
    for name, package in record.pins.get("domains", {}).items():
        yield Pin(name=f"Domain, {name}", text=package)
    dialogues = f"at most {count(report.max_turns, 'turn')}; seed {report.seed}"
    yield Pin(name="Dialogues", text=dialogues)
    if record.sandbox:
        yield Pin(name="Isolation", text=record.sandbox)
    for name, environment in record.environments.items():
        yield Pin(name=f"Tools, {name}", text=environment)
    commit = f", commit {record.commit}" if record.commit else ""
    harness = f"ColBench {record.colbench}{commit}; Python {record.python}; {record.platform}"
    yield Pin(name="Harness", text=harness)
    started = record.started.replace("T", " ").replace("+00:00", " UTC")
    yield Pin(name="Started", text=started)
    yield Pin(name="Configuration", text=record.digest)


def _resolved(name: str, given: str, resolved: Mapping[str, object] | None) -> Pin:
    known = {key: value for key, value in (resolved or {}).items() if value not in ("", None)}
    details = tuple(f"{key}: {value}" for key, value in known.items())
    return Pin(name=name, given=given, details=details)
