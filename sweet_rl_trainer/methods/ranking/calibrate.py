"""A constant offset that makes the scores of answers comparable with the scores of other replies at the same turn.

Preferences between dialogues show which questions are better than other questions, and which answers are better than
other answers. They hardly show how an answer compares with a question: a dialogue has at most one answer, and the
better of two dialogues often has more questions, so a critic may favor questions in general. The outcomes of recorded
answers do show this: if a dialogue ended in success, it was time to answer; if it ended in failure, it usually was not.
The constant is chosen so that scores agree best with these outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from statistics import fmean

from msgspec.structs import replace

from sweet_rl_trainer.data.pairs import SOLVED
from sweet_rl_trainer.methods.ranking.answers import is_answer
from sweet_rl_trainer.methods.ranking.turns import Scored


def offset(turns: Iterable[Scored]) -> float | None:
    """Return the offset to add to the score of each answer.

    The offset is fitted to the last turns of answered dialogues. A turn is used if its scored candidates include both
    answers and other replies. A turn's gap is the mean score of its answers minus the mean score of its other replies.
    The offset maximizes the balanced accuracy: the share of successes with gap + offset above 0, plus the share of
    failures with gap + offset below 0. An offset is tried only if gap + offset is above 0 for some turns and below 0
    for others. Among equally good offsets, the middle of the widest range is chosen. Return None if no turn can be
    used, if all dialogues with such turns succeeded, if all of them failed, or if all gaps are equal.
    """
    known = sorted(_gaps(turns))
    successes = sum(success for _, success in known)
    failures = len(known) - successes
    if not successes or not failures:
        return None
    # To stay integers, the shares are multiplied by successes * failures. The scan starts with an offset so large that
    # gap + offset is above 0 for all turns.
    right = failures * successes
    ranges = []
    for (here, success), (there, _) in pairwise(known):
        right += -failures if success else successes
        if there > here:
            ranges.append((right, there - here, -(here + there) / 2))
    return max(ranges)[2] if ranges else None


def shifted(turns: Iterable[Scored], by: float) -> Iterator[Scored]:
    """Yield the turns, with `by` added to the score of each candidate that is an answer."""
    for turn in turns:
        scores = tuple(
            score + by if score is not None and answers else score
            for answers, score in _marked(turn)
        )
        yield replace(turn, scores=scores)


def _gaps(turns: Iterable[Scored]) -> Iterator[tuple[float, bool]]:
    """Yield two values for each turn that ends a dialogue with an answer: the gap, and True if the dialogue succeeded.

    The gap is the mean score of the turn's candidates that answer, minus the mean score of its other candidates. If
    either group has no scored candidate, the turn is skipped.
    """
    for turn in turns:
        where = turn.candidates.turn
        dialogue = where.trajectory
        if dialogue.ended_by != "answer" or where.number < len(dialogue.said) - 1:
            continue
        answers, others = answers_and_others(turn)
        if answers and others:
            yield fmean(answers) - fmean(others), dialogue.reward >= SOLVED


def answers_and_others(turn: Scored) -> tuple[list[float], list[float]]:
    """Return the known scores of a turn's candidates in two lists: scores of answers, and scores of other replies."""
    known = [(answers, score) for answers, score in _marked(turn) if score is not None]
    return [score for answers, score in known if answers], [
        score for answers, score in known if not answers
    ]


def _marked(turn: Scored) -> Iterator[tuple[bool, float | None]]:
    """Yield two values for each candidate: True if it is an answer, and its score."""
    for reply, score in zip(turn.candidates.replies, turn.scores, strict=True):
        yield is_answer(reply.text), score
