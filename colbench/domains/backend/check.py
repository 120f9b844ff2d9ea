"""The check of backend programming tasks, for `colbench tasks validate`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from colbench.checks import TaskCheck, shorten
from colbench.config import ScoringMode
from colbench.domains.backend.scorer import UnitTestScorer
from colbench.numbers import count
from colbench.sandbox import CodeSandbox
from colbench.score import Score
from colbench.task import SIGNATURE, Task

NO_SIGNATURE = (
    "the request does not state the signature of the function, such as `def f(a, b)`, "
    "so agents cannot know its name"
)
MODES: tuple[ScoringMode, ...] = ("default", "official")


async def check_functions(
    tasks: Sequence[Task], sandbox: CodeSandbox, done: Callable[[], None]
) -> list[TaskCheck]:
    """Check backend programming tasks in a started sandbox; `done` is called after each task."""
    import asyncio

    scorer = UnitTestScorer(sandbox)

    async def check(task: Task) -> TaskCheck:
        result = await _check(scorer, task)
        done()
        return result

    return await asyncio.gather(*map(check, tasks))


async def _check(scorer: UnitTestScorer, task: Task) -> TaskCheck:
    found = await scorer.validate(task)
    blank = await scorer.score(task, "")
    flaws = _left_out(
        "does not return the same value twice", [(call, "") for call in found.unstable]
    )
    flaws += _left_out("cannot be scored", found.unscorable)
    flaws += _failed_checks(found.scores)
    if not SIGNATURE.search(task.request):
        flaws.append(NO_SIGNATURE)
    return TaskCheck(
        id=task.id,
        domain=task.domain,
        default=found.scores["default"].value,
        official=found.scores["official"].value,
        blank=blank["default"].value,
        constant=found.constant,
        flaws=tuple(flaws),
    )


def _left_out(what: str, calls: Sequence[tuple[str, str]]) -> list[str]:
    if not calls:
        return []
    call, why = calls[0]
    others = f" and {count(len(calls) - 1, 'other')}" if len(calls) > 1 else ""
    return [f"{what}{f' ({why})' if why else ''}: {shorten(call)}{others}"]


def _failed_checks(scores: dict[str, Score]) -> list[str]:
    flaws = []
    for mode in MODES:
        score = scores[mode]
        failed = [c for c in score.checks if c.outcome not in ("passed", "unstable", "unscorable")]
        if score.value != 1 and (failed or score.note):
            ran = failed and (failed[0].outcome != "skipped" or not score.note)
            why = f"{failed[0].outcome} on {shorten(failed[0].call)}" if ran else score.note
            flaws.append(f"the reference scores {score.value} in {mode} mode: {why}")
    return flaws
