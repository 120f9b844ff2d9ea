"""Recorded settings (pins) that runs must share to be compared, such as human and scorers; not agents and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from colbench.comparison.model import Mismatch
from colbench.config import RunConfig, settings
from colbench.errors import UserError
from colbench.numbers import count
from colbench.report.dialogue_stats import DialogueStats
from colbench.run import Run
from colbench.run_folder import flat_pins

FREE = {"seed", "record_tokens", "tasks"}
"""Pinned settings, in addition to the agent's, that may differ because they do not change what is measured.

`tasks` names the source; only tasks with the same ID and hash are compared.
"""
UNKNOWN = "–"


def mismatches(runs: Sequence[Run], mode: str) -> list[Mismatch]:
    """Return the pins that make runs incomparable; `mode` is the compared scoring mode."""
    pins = [_pins(run, mode) for run in runs]
    names = dict.fromkeys(name for each in pins for name in each)
    rows = {name: tuple(each.get(name, UNKNOWN) for each in pins) for name in names}
    return [
        Mismatch(pin=name, values=values, fix=_fix(name))
        for name, values in rows.items()
        if len(set(values)) > 1
    ]


def require_alike(runs: Sequence[Run], found: Sequence[Mismatch]) -> None:
    """Raise UserError, which names the pins that make runs incomparable, if there are any."""
    if not found:
        return
    lines = []
    for each in found:
        lines.append(f"  {each.pin}{': ' + each.fix if each.fix else ''}")
        lines += [
            f"    {value}  ({run.path})" for value, run in zip(each.values, runs, strict=True)
        ]
    raise UserError(
        "\n".join(
            [
                "the runs cannot be compared because they differ in more than agent and tasks; --force "
                "compares them anyway and lists the differences:",
                *lines,
            ]
        )
    )


def notes(runs: Sequence[Run], mode: str, compared: int) -> list[str]:
    """Return differences between comparable runs that readers should know about.

    `compared`: the number of tasks that all runs have.
    """
    found = list(_other_tasks(runs, compared))
    if len({run.record.config.trials for run in runs}) > 1:
        found.append("the numbers of trials differ; only trials that both runs have are compared")
    if len({run.record.config.seed for run in runs}) > 1:
        found.append("the seeds differ; the trials of a task share only the task")
    if len({run.record.commit for run in runs}) > 1:
        found.append("the runs were made by different commits of ColBench")
    places = [
        frozenset(
            score.environment
            for dialogue in _dialogues(run)
            if (score := dialogue.scores.get(mode)) and score.environment
        )
        for run in runs
    ]
    if len(set(places)) > 1:
        listed = "; ".join(dict.fromkeys(" and ".join(sorted(each)) or "none" for each in places))
        found.append(f"answers were scored in different environments: {listed}")
    return found


def _other_tasks(runs: Sequence[Run], compared: int) -> Iterator[str]:
    """Yield how many tasks of each run are not compared, if the runs were made on different tasks."""
    tasks = [run.record.tasks for run in runs]
    if len({each.hash for each in tasks}) > 1 and any(each.count > compared for each in tasks):
        left = (
            f"{each.count - compared:,} of {name}"
            for name, each in zip(ascii_uppercase, tasks, strict=False)
        )
        yield (
            f"the runs have different tasks; compared: {count(compared, 'task')} with the same ID and content; "
            f"left out: {', '.join(left)}"
        )


def _pins(run: Run, mode: str) -> dict[str, str]:
    """Return the properties that compared runs must share, by name."""
    record, known = run.record, settings()
    config = {**RunConfig().pins(), **record.pins["config"]}
    shared = {
        name: value
        for name, value in config.items()
        if name not in FREE and not (name in known and known[name].group == "agent")
    }
    rest = {name: each for name, each in record.pins.items() if name not in ("config", "agent")}
    return {**flat_pins(shared), **flat_pins(rest), **_scorers(run, mode)}


def _scorers(run: Run, mode: str) -> dict[str, str]:
    """Return the scorers of a run by domain; dialogues that ended because the agent failed have no scorer."""
    found: dict[str, set[str]] = {}
    for dialogue in _dialogues(run):
        score = dialogue.scores.get(mode)
        if score and not dialogue.agent_failed:
            found.setdefault(f"scorer, {dialogue.domain}", set()).add(score.scorer)
    return {name: " and ".join(sorted(scorers)) for name, scorers in found.items()}


def _dialogues(run: Run) -> Iterator[DialogueStats]:
    return (each for rows in run.stats.values() for row in rows.values() for each in row.values())


def _fix(pin: str) -> str:
    return "`colbench score RUN` scores a run again" if pin.startswith("scorer") else ""
