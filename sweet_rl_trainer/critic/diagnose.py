"""What a critic's scores are worth, before an actor is trained on them.

- `pair_accuracy`: how often it prefers the better of two dialogues, on held-out tasks.
- `correlation`: whether it likes replies for their length, or dialogues for their number of turns. A critic that is not
  normalised does, and its actor's replies collapse (arXiv 2503.15478, Table 3).
- `best_of_n`: what choosing by it is worth, as the number of candidates grows.

`diagnose` puts the first two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb
from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.errors import UserError
from colbench.stats import Interval, mean_interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sweet_rl_trainer.examples import PairExample
    from sweet_rl_trainer.ranking.score import Scored

    Floats = NDArray[np.float64]


def pair_accuracy(pairs: Sequence[PairExample], scores: Sequence[tuple[float, float]]) -> Interval:
    """The share of pairs whose chosen side has the higher score; a tie is half right.

    Each task counts the same, and is the unit of the interval. `scores` are `ranking.score.score_pairs`.
    """
    tasks: dict[str, list[float]] = {}
    for pair, (chosen, rejected) in zip(pairs, scores, strict=True):
        right = 0.5 if chosen == rejected else float(chosen > rejected)
        tasks.setdefault(pair.task_hash, []).append(right)
    return mean_interval(tasks.values())


class Correlation(Struct, frozen=True, kw_only=True):
    """Of n pairs of numbers; None where one of the two never varies, or there are fewer than two."""

    pearson: float | None
    spearman: float | None
    """Ties have the mean of their ranks."""
    count: int


def correlation(scores: Sequence[float], sizes: Sequence[float]) -> Correlation:
    """How scores go with sizes, such as a reply's tokens or a dialogue's turns."""
    import numpy as np

    one, other = (np.asarray(each, dtype=np.float64) for each in (scores, sizes))
    return Correlation(
        pearson=_pearson(one, other),
        spearman=_pearson(_ranks(one), _ranks(other)),
        count=len(one),
    )


def within(groups: Iterable[tuple[Sequence[float], Sequence[float]]]) -> Correlation:
    """The same among the candidates of one turn: of what is left of scores and sizes without their turn's means.

    Ranking compares within a turn only. Ranks are the turn's own.
    """
    import numpy as np

    arrays = [[np.asarray(each, dtype=np.float64) for each in group] for group in groups]
    centred = [_joined([_centred(group[side]) for group in arrays]) for side in (0, 1)]
    ranked = [_joined([_centred(_ranks(group[side])) for group in arrays]) for side in (0, 1)]
    return Correlation(
        pearson=_pearson(*centred), spearman=_pearson(*ranked), count=len(centred[0])
    )


def _centred(values: Floats) -> Floats:
    return values - (values.mean() if _varies(values) else values[:1])


def _varies(values: Floats) -> bool:
    return len(values) > 1 and bool(values.min() < values.max())


def _joined(parts: Sequence[Floats]) -> Floats:
    import numpy as np

    return np.concatenate(parts) if parts else np.empty(0)


def _pearson(one: Floats, other: Floats) -> float | None:
    if len(one) != len(other):
        raise ValueError(f"{len(one)} numbers and {len(other)} do not make pairs")
    if not (_varies(one) and _varies(other)):
        return None
    first, second = _centred(one), _centred(other)
    return float((first @ second) / ((first @ first) * (second @ second)) ** 0.5)


def _ranks(values: Floats) -> Floats:
    """Ranks from 1."""
    import numpy as np

    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = count.cumsum()
    return np.asarray((last - (count - 1) / 2)[place], dtype=np.float64)


class Diagnosis(Struct, frozen=True, kw_only=True):
    """What held-out dialogues and ranked candidates say of a critic."""

    accuracy: Interval
    by_turns: Correlation
    """Of dialogues' scores with their numbers of turns."""
    by_length: Correlation
    """Of dialogues' scores with their numbers of reply tokens."""
    candidates_by_length: Correlation
    """Of candidates' scores with their tokens, within turns."""


def diagnose(
    pairs: Sequence[PairExample],
    scores: Sequence[tuple[float, float]],
    ranked: Sequence[Scored] = (),
) -> Diagnosis:
    """`scores` are the pairs' (`ranking.score.score_pairs`); a dialogue that is in many pairs counts once."""
    sides = {
        side.trajectory: (score, side)
        for pair, both in zip(pairs, scores, strict=True)
        for score, side in zip(both, (pair.chosen, pair.rejected), strict=True)
    }
    found = [score for score, _ in sides.values()]
    return Diagnosis(
        accuracy=pair_accuracy(pairs, scores),
        by_turns=correlation(found, [side.turns for _, side in sides.values()]),
        by_length=correlation(found, [side.reply_tokens for _, side in sides.values()]),
        candidates_by_length=within(map(_lengths, ranked)),
    )


def _lengths(scored: Scored) -> tuple[list[float], list[float]]:
    """Scores and lengths of the candidates that have a score."""
    pairs = zip(scored.scores, scored.lengths, strict=True)
    known = [(score, float(length)) for score, length in pairs if score is not None]
    return [score for score, _ in known], [length for _, length in known]


class BestOf(Struct, frozen=True, kw_only=True):
    """What the best of n by score is worth: the mean over groups, with the interval over them."""

    count: int
    """n."""
    reward: Interval


def best_of_n(
    groups: Sequence[tuple[Sequence[float], Sequence[float]]],
    counts: Sequence[int],
    bounds: tuple[float, float] | None = (0.0, 1.0),
) -> list[BestOf]:
    """The curve over `counts`, from the rewards and the scores of each group's candidates, such as a task's answers.

    Unbiased (`expected_best`). `bounds` are those that rewards can have; None: unbounded. Raises UserError for a count
    below 1 or above the number of candidates of some group.
    """
    fewest = min((len(rewards) for rewards, _ in groups), default=0)
    for count in counts:
        if not 1 <= count <= fewest:
            raise UserError(f"best of {count}: every group must have so many; one has {fewest}")
    return [
        BestOf(
            count=count,
            reward=mean_interval(
                [[expected_best(rewards, scores, count)] for rewards, scores in groups], bounds
            ),
        )
        for count in counts
    ]


def expected_best(rewards: Sequence[float], scores: Sequence[float], count: int) -> float:
    """The expected reward of the one with the highest score among `count` drawn without replacement.

    The candidate with the i-th lowest score (from 1) of m is the best of C(i − 1, n − 1) of the C(m, n) draws. Equal
    scores are decided by lot: each has the mean reward of its equals.
    """
    if len(rewards) != len(scores):
        raise ValueError(f"{len(rewards)} rewards and {len(scores)} scores")
    equals: dict[float, list[float]] = {}
    for reward, score in zip(rewards, scores, strict=True):
        equals.setdefault(score, []).append(reward)
    total, below = 0.0, 0
    for score in sorted(equals):
        same = equals[score]
        draws = comb(below + len(same), count) - comb(below, count)
        total += draws * sum(same) / len(same)
        below += len(same)
    return total / comb(below, count)
