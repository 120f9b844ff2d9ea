"""What `colbench validate` finds out about one task of backend programming, and what it says of any task."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from colbench.config import ScoringMode
from colbench.report.text import count
from colbench.sandbox import CodeSandbox
from colbench.score import Score
from colbench.scorers.unit_tests import UnitTestScorer
from colbench.task import Domain, Task

MODES: tuple[ScoringMode, ...] = ("default", "official")


class TaskCheck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was found out about one task."""

    id: str
    domain: Domain
    default: float | None
    """What the reference scores as an answer, by mode; None when it cannot be scored."""
    official: float | None
    blank: float | None
    """What an empty answer scores."""
    flaws: tuple[str, ...] = ()
    constant: bool = False
    """Backend: every call gives the same value, so that an answer need not look at its arguments."""
    unsteady: bool = False
    """Frontend: the reference does not render twice to the same picture."""
    floors: dict[str, dict[str, float]] = {}
    """Frontend: what pages that nobody designed score; see `Score.floors`."""

    @property
    def sound(self) -> bool:
        """Whether the task can be scored: the reference 1, an empty answer 0."""
        return self.default == 1 and self.blank == 0 and not self.unsteady


async def check_functions(
    tasks: Sequence[Task], sandbox: CodeSandbox, done: Callable[[], None]
) -> list[TaskCheck]:
    """Check tasks of backend programming in an entered sandbox; `done` is called after each."""
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
    flaws = _left_out("does not give the same value twice", [(call, "") for call in found.unstable])
    flaws += _left_out("cannot be scored", found.unscorable)
    flaws += _failed_checks(found.scores)
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


def shorten(text: str, width: int = 60) -> str:
    """The text on one line, cut at `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _failed_checks(scores: dict[str, Score]) -> list[str]:
    flaws = []
    for mode in MODES:
        score = scores[mode]
        failed = [c for c in score.checks if c.outcome not in ("passed", "unstable", "unscorable")]
        if score.value != 1 and (failed or score.note):
            why = f"{failed[0].outcome} on {shorten(failed[0].call)}" if failed else score.note
            flaws.append(f"the reference scores {score.value} in {mode} mode: {why}")
    return flaws
