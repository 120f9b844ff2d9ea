"""The reason why a dialogue failed, as one of five classes; no judge model is needed."""

from __future__ import annotations

from collections import Counter
from typing import Literal, get_args

from colbench.rollout import Rollout
from colbench.score import LEFT_OUT, Score

FailureClass = Literal["no_answer", "crashed", "guessed", "ignored", "wrong_code"]
"""The failure classes in the order of their checks, except that a failure of the agent itself is checked first.

`no_answer`: the agent reached the turn limit without `I WANT TO ANSWER:`, or its answer is blank.
`crashed`: the agent failed, or its answer returned no value in any test.
`guessed`: the agent answered although the human had not revealed every hidden decision.
`ignored`: every decision was revealed, and the answer contradicts at least one.
`wrong_code`: every decision was revealed, and the answer is wrong without visibly contradicting any of them; also used
if the decisions behind the task are not known.
"""
FAILURE_CLASSES: tuple[FailureClass, ...] = get_args(FailureClass)


def failure_class(rollout: Rollout, mode: str = "default") -> FailureClass | None:
    """Return a dialogue's failure class; None if the dialogue did not fail or has no score.

    A failure of the agent itself is `crashed` in every domain. Other failures have a class only in domains that define
    success.
    """
    if rollout.agent_failed:
        return "crashed"
    score = rollout.scores.get(mode)
    if score is None or score.success is not False:
        return None
    if rollout.ended_by == "limit" or not (rollout.answer or "").strip():
        return "no_answer"
    if _never_ran(score):
        return "crashed"
    asking = rollout.asking
    if asking is not None and asking.open:
        return "guessed"
    return "ignored" if asking is not None and asking.ignored else "wrong_code"


def _never_ran(score: Score) -> bool:
    """Return True if at least one test counts, and the answer returned no value in any test that counts."""
    counted = [check.outcome for check in score.checks if check.outcome not in LEFT_OUT]
    return bool(counted) and all(outcome in CRASHES for outcome in counted)


def crash_error(score: Score) -> str:
    """Return the most frequent error in the tests of an answer that crashed.

    If no test has the text of an error, return the score's note, which says why no test was run; the note may be "".
    """
    errors = Counter(
        check.actual for check in score.checks if check.outcome in CRASHES and check.actual
    )
    return errors.most_common(1)[0][0] if errors else score.note


CRASHES = frozenset({"error", "timeout", "skipped"})
