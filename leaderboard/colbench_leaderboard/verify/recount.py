"""A cell's line of `scores.jsonl`: its value, and what was said counted anew."""

from __future__ import annotations

from colbench.domain import get_domain
from colbench.report.cells import value_at
from colbench.report.dialogues import agent_words, human_words
from colbench.rollout import Rollout
from colbench.score import Score
from colbench.task import Task
from colbench_leaderboard.receipt import FRONTEND_DIGITS, CellScore

ABSENT = "absent"
"""What stands for the boundary of a cell that is not in the bundle."""


def absent(task: Task, trial: int) -> CellScore:
    """The line of a cell that is not there: 0."""
    return CellScore(
        task_id=task.id,
        trial=trial,
        value=0.0,
        success=_none_is_right(task.domain),
        official=0.0,
        turns=0,
        answered=False,
        agent_words=0,
        human_words=0,
        failure=ABSENT,
    )


def counted(rollout: Rollout) -> CellScore | None:
    """The line of a scored cell; without an answer 0. None where the receiver's own scorer cannot judge the task."""
    default, official = rollout.scores.get("default"), rollout.scores.get("official")
    value = default.value if default else 0.0
    if value is None:
        return None
    failure = rollout.failure.boundary if rollout.failure and rollout.answer is None else ""
    return CellScore(
        task_id=rollout.task_id,
        trial=rollout.trial,
        value=_rounded(value, rollout.domain),
        success=default.success if default else _none_is_right(rollout.domain),
        official=_official(official, rollout.domain),
        turns=len(rollout.turns),
        answered=rollout.ended_by == "answer",
        agent_words=agent_words(rollout),
        human_words=human_words(rollout),
        agent_tokens=_tokens(rollout),
        failure=failure,
        by_turn=_by_turn(rollout),
    )


def _none_is_right(domain: str) -> bool | None:
    return False if domain == "backend" else None


def _official(score: Score | None, domain: str) -> float | None:
    if score is None:
        return 0.0
    return None if score.value is None else _rounded(score.value, domain)


def _rounded(value: float, domain: str) -> float:
    return round(value, FRONTEND_DIGITS) if domain == "frontend" else value


def _tokens(rollout: Rollout) -> int | None:
    """Of the agent's prompts and completions, as the bundle says; None where it does not say it of every turn."""
    usages = [turn.agent_usage for turn in rollout.turns]
    known = [usage for usage in usages if usage]
    if not known or len(known) < len(usages):
        return None
    return sum(usage.prompt_tokens + usage.completion_tokens for usage in known)


def _by_turn(rollout: Rollout) -> tuple[float, ...]:
    if rollout.domain == "backend" or rollout.answer is None:
        return ()
    lead = get_domain(rollout.domain).primary
    values = (value_at(rollout, turn, lead) for turn in range(1, len(rollout.turns) + 1))
    return tuple(round(value or 0.0, FRONTEND_DIGITS) for value in values)
