"""Recorded settings (pins) that compared runs must share, such as human and scorers; agent and tasks may differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from string import ascii_uppercase

from colbench.comparison.model import DomainComparison, Mismatch
from colbench.config import RunConfig, settings
from colbench.errors import UserError
from colbench.numbers import count
from colbench.pins import flat_pins
from colbench.registry import domain_names
from colbench.report.cells import TaskKey
from colbench.report.dialogue_stats import DialogueStats
from colbench.report.facts import FEW_TASKS
from colbench.run import Run
from colbench.shards import in_shard

FREE = {"seed", "record_tokens", "tasks"}
"""Pinned settings, in addition to the agent's, that may differ because they do not change what is measured.

`tasks` names the source; only tasks with the same ID and hash are compared.
"""
SCORER = "scorer, "
"""Prefix of the names of pins that contain scorers; the name of the domain follows."""
UNKNOWN = "–"


def mismatches(runs: Sequence[Run], mode: str) -> list[Mismatch]:
    """Return the pins that make runs incomparable; `mode` is the compared scoring mode.

    Pins of a domain count only if all runs have dialogues in this domain. If a run has no scored answer in a domain,
    its scorer there is unknown, and does not count as different.
    """
    domains = _common_domains(runs)
    parts = set.intersection(*(set(run.record.pins) for run in runs)) - {"agent", "config", "human"}
    pins = [
        {
            **_settings(run),
            **_human(run, domains),
            **_resources(run, parts, domains),
            **_scorers(run, mode, domains),
        }
        for run in runs
    ]
    names = dict.fromkeys(name for each in pins for name in each)
    rows = {name: tuple(each.get(name, UNKNOWN) for each in pins) for name in names}
    return [
        Mismatch(pin=name, values=values, fix=_fix(name))
        for name, values in rows.items()
        if len(set(values) - ({UNKNOWN} if name.startswith(SCORER) else set())) > 1
    ]


def require_alike(runs: Sequence[Run], found: Sequence[Mismatch]) -> None:
    """Raise UserError if `found` has pins that make the runs incomparable; the message lists them with their values."""
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


def notes(runs: Sequence[Run], mode: str, compared: Mapping[str, DomainComparison]) -> list[str]:
    """Return what readers of the comparison should know about: too few tasks, and differences between the runs.

    `mode`: the compared scoring mode. `compared`: the compared domains by name.
    """
    found = list(_left_out(runs, sum(each.tasks for each in compared.values())))
    if few := [name for name, each in compared.items() if _scored_tasks(each) < FEW_TASKS]:
        where = " and ".join(few)
        found.append(
            f"fewer than {FEW_TASKS} common scored tasks in {where}: the intervals are too narrow, except where all "
            "tasks have the same difference; the p-values are valid"
        )
    if len({run.record.config.trials for run in runs}) > 1:
        found.append("the numbers of trials differ; only trials that both runs have are compared")
    if len({run.record.config.seed for run in runs}) > 1:
        found.append("the seeds differ, so compared trials have only their task in common")
    if len({run.record.commit for run in runs}) > 1:
        found.append("the runs were made by different commits of ColBench")
    domains = _common_domains(runs)
    places = {
        frozenset(
            score.environment
            for dialogue in _dialogues(run, domains)
            if (score := dialogue.scores.get(mode)) and score.environment
        )
        for run in runs
    } - {frozenset()}
    if len(places) > 1:
        listed = "; ".join(sorted(" and ".join(sorted(each)) for each in places))
        found.append(f"answers were scored in different environments: {listed}")
    return found


def _scored_tasks(domain: DomainComparison) -> int:
    """Return the number of tasks that both runs of a pair have scored, for the pair with the fewest such tasks."""
    found = (pair.differences.get(domain.headline) for pair in domain.pairs)
    return min(each.tasks if each else 0 for each in found)


def _left_out(runs: Sequence[Run], compared: int) -> Iterator[str]:
    """Yield a note on the tasks that are not compared because a run lacks the task, or has not played it yet."""
    planned = [_planned(run) for run in runs]
    common = set.intersection(*planned)
    others = [len(each - common) for each in planned]
    unplayed = [len(common - _played(run)) for run in runs]
    if not any(others) and not any(unplayed):
        return
    lead = "the runs have different tasks" if any(others) else "not all runs are finished"
    note = f"{lead}; compared: {count(compared, 'task')} with the same ID and content"
    if any(others):
        note += f"; left out: {_by_run(others)}"
    if any(unplayed):
        note += f"; no dialogue yet: {_by_run(unplayed)}"
    yield note


def _by_run(numbers: Sequence[int]) -> str:
    return ", ".join(
        f"{number:,} of {name}" for number, name in zip(numbers, ascii_uppercase, strict=False)
    )


def _planned(run: Run) -> set[TaskKey]:
    """Return the tasks on which a run plans or has dialogues.

    A run has dialogues that it does not plan if, for example, its --limit was reduced after these dialogues.
    """
    config = run.config
    return _played(run) | {
        (task.id, task.hash)
        for task in run.known_tasks()
        if any(in_shard(config.shard, task.id, task.hash, n) for n in range(config.trials))
    }


def _played(run: Run) -> set[TaskKey]:
    return {task for rows in run.stats.values() for task in rows}


def _settings(run: Run) -> dict[str, str]:
    """Return the settings that compared runs must share."""
    known, config = settings(), {**RunConfig().pins(), **run.record.pins["config"]}
    return flat_pins(
        {
            name: value
            for name, value in config.items()
            if name not in FREE and not (name in known and known[name].group == "agent")
        }
    )


def _human(run: Run, domains: Collection[str]) -> dict[str, str]:
    """Return the description of the human, without its parts for other domains, such as `frontend_prompt`."""
    others = tuple(f"{name}_" for name in domain_names() if name not in domains)
    human = flat_pins(run.record.pins.get("human", {}))
    return {f"human.{name}": value for name, value in human.items() if not name.startswith(others)}


def _resources(run: Run, parts: Collection[str], domains: Collection[str]) -> dict[str, str]:
    """Return the pins named in `parts`, such as ColBench's version; the pin `domains` is limited to the given domains.

    `parts`: the names of the pins that all runs have. Other pins belong to domains that some run lacks. The pin
    `domains` contains the packages of third-party domains.
    """
    found = {name: each for name, each in run.record.pins.items() if name in parts}
    if "domains" in found:
        packages = found["domains"]
        found["domains"] = {name: packages[name] for name in packages if name in domains}
    return flat_pins(found)


def _scorers(run: Run, mode: str, domains: Collection[str]) -> dict[str, str]:
    """Return the scorers of a run by domain; dialogues that ended because the agent failed have no scorer."""
    found: dict[str, set[str]] = {}
    for dialogue in _dialogues(run, domains):
        score = dialogue.scores.get(mode)
        if score and not dialogue.agent_failed:
            found.setdefault(f"{SCORER}{dialogue.domain}", set()).add(score.scorer)
    return {name: " and ".join(sorted(scorers)) for name, scorers in found.items()}


def _common_domains(runs: Sequence[Run]) -> set[str]:
    """Return the domains in which all runs have dialogues."""
    return set.intersection(*(set(run.stats) for run in runs))


def _dialogues(run: Run, domains: Collection[str]) -> Iterator[DialogueStats]:
    return (
        each
        for name, rows in run.stats.items()
        if name in domains
        for row in rows.values()
        for each in row.values()
    )


def _fix(pin: str) -> str:
    return "`colbench score RUN` scores a run again" if pin.startswith(SCORER) else ""
