"""Comparing runs: checking that the runs are comparable, naming the runs, and comparing them in each domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_uppercase

from colbench.comparison.domain import compare_domain
from colbench.comparison.model import Comparison, RunName
from colbench.comparison.pins import mismatches, notes, require_alike
from colbench.config import without_address
from colbench.errors import UserError
from colbench.registry import get_domain, require_mode
from colbench.run import Run

MOST = 26
"""Maximum number of runs in a comparison: each is named by a letter."""


def compare(*runs: Run, force: bool = False, scoring: str = "default") -> Comparison:
    """Compare the answers, the questions and the effort of runs on their common tasks, paired by task and trial.

    Args:
        *runs: At least two runs, as `colbench.load_run` returns them. Every run is compared with every other.
        force: Compare the runs even if they differ in more than agent and tasks; `mismatches` lists the differences.
        scoring: Scoring mode, such as `official`.

    Raises:
        UserError: An argument is not a run, there are fewer than two runs or more than `MOST`, a run has no dialogue,
            no task has a dialogue in every run, or a shared domain lacks the scoring mode. Without
            `force`, also if the runs differ in more than agent and tasks; the message then names the settings that
            differ.
    """
    _require(runs)
    differ = mismatches(runs, scoring)
    if not force:
        require_alike(runs, differ)
    domains = {}
    for name in sorted(set.intersection(*(set(run.stats) for run in runs))):
        require_mode(name, scoring)
        if found := compare_domain(get_domain(name), runs, scoring):
            domains[name] = found
    if not domains:
        raise UserError(
            f"{_paths(runs)}: no task has a dialogue in every run; compare runs on the same tasks"
        )
    return Comparison(
        runs=tuple(run_names(runs)),
        mismatches=tuple(differ),
        notes=tuple(notes(runs, scoring, domains)),
        domains=domains,
    )


def run_names(runs: Sequence[Run]) -> list[RunName]:
    """Return names by which the compared runs can be told apart.

    All runs are named by the first of these properties that is different in every run: the agent without the URL of
    its server, the agent, the name of the folder, the path.
    """
    choices: tuple[Callable[[Run], str], ...] = (
        lambda run: without_address(run.config.agent),
        lambda run: run.config.agent,
        lambda run: run.path.resolve().name,
        lambda run: str(run.path),
    )
    names = next(
        (
            each
            for choice in choices
            if len(set(each := [choice(run) for run in runs])) == len(runs)
        ),
        [str(run.path) for run in runs],
    )
    return [
        RunName(
            letter=letter,
            name=name,
            path=str(run.path),
            agent=run.config.agent,
            human=run.config.human,
            tasks=run.config.tasks,
            trials=run.config.trials,
            digest=run.record.digest,
        )
        for letter, run, name in zip(ascii_uppercase, runs, names, strict=False)
    ]


def _require(runs: Sequence[Run]) -> None:
    for run in runs:
        if not isinstance(run, Run):
            raise UserError(f"compare takes runs, got {run!r}; use colbench.load_run(FOLDER)")
    if len(runs) < 2:
        raise UserError(f"compare takes at least two runs, got {len(runs)}")
    if len(runs) > MOST:
        raise UserError(f"{len(runs)} runs are too many to compare; pass at most {MOST}")
    for run in runs:
        if not run.stats:
            raise UserError(
                f"{run.path}: no dialogues yet; run `colbench eval` again to continue the run, or delete the folder"
            )


def _paths(runs: Sequence[Run]) -> str:
    return ", ".join(str(run.path) for run in runs)
