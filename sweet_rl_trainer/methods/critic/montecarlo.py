"""Monte-Carlo returns: do a critic's scores agree with the rewards of continued dialogues?

The return of a candidate is the mean reward of several continuations of its dialogue by a policy and the run's human,
scored by the harness (`continuations`). A return is noisy, so even a perfect critic agrees with returns only partly.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct

from colbench.config import derive_seed
from colbench.errors import UserError
from colbench.stats import Interval, mean_interval
from colbench.task import Task
from sweet_rl_trainer.agents.continuations import Continuations
from sweet_rl_trainer.methods.critic.correlation import correlation
from sweet_rl_trainer.methods.ranking.turns import Turn, opening

if TYPE_CHECKING:
    from sweet_rl_trainer.methods.ranking.turns import Scored


class Returns(Struct, frozen=True, kw_only=True):
    """The scores and returns of some candidates of a turn."""

    task_hash: str
    scores: tuple[float, ...]
    returns: tuple[float, ...]


class Agreement(Struct, frozen=True, kw_only=True):
    """The agreement of scores with returns among the candidates of a turn. Each task has the same weight."""

    pairwise: Interval
    """Share of pairs in which the candidate with the higher return has the higher score.

    Pairs with equal scores count half, and pairs with equal returns are left out.
    """
    spearman: Interval
    """Rank correlation of scores and returns within a turn, over the turns in which both vary."""
    turns: int
    """Number of turns whose returns vary."""
    candidates: int
    """Number of candidates with a score and a return, over all turns."""


def sample_turns(
    scored: Sequence[Scored],
    tasks: Mapping[str, Task],
    *,
    turns: int,
    candidates: int,
    seed: int = 0,
) -> list[tuple[Scored, list[int]]]:
    """Draw at most `turns` turns, and at most `candidates` scored candidates of each turn.

    The drawn candidates of a turn differ in wording.

    The candidates are returned as indices. `tasks` is keyed by task hash. A turn is drawn only if its task is in
    `tasks` and at least two of its scored candidates differ in wording.

    Raises UserError if `turns` is below 1 or `candidates` below 2.
    """
    for name, value, least in (("turns", turns, 1), ("candidates", candidates, 2)):
        if value < least:
            raise UserError(f"{name} {value}: must be at least {least}")
    usable = []
    for each in scored:
        turn = each.candidates.turn
        distinct = _distinct(each) if turn.trajectory.task_hash in tasks else []
        if len(distinct) > 1:
            chance = _chance(seed, turn)
            taken = chance.sample(distinct, min(candidates, len(distinct)))
            usable.append((each, sorted(taken), chance.random()))
    first = sorted(range(len(usable)), key=lambda n: usable[n][2])[:turns]
    return [usable[n][:2] for n in sorted(first)]


def compare(
    sample: Sequence[tuple[Scored, list[int]]],
    tasks: Mapping[str, Task],
    continuations: Continuations,
    count: int,
    dropped: Counter[str] | None = None,
) -> list[Returns]:
    """Return the score and the return of each sampled candidate.

    The return is the mean reward of the candidate's continuations.

    `sample` is the result of `sample_turns`, and `count` is the number of continuations of a candidate. A candidate
    without a score, or without a continuation that has a reward, is left out and counted in `dropped`. Raises UserError
    if `count` is below 1.
    """
    if count < 1:
        raise UserError(f"continuations: {count} per candidate; expected at least 1")
    openings = [
        opening(each.candidates.turn, each.candidates.replies[number].text, tasks)
        for each, numbers in sample
        for number in numbers
    ]
    rewards = iter(continuations(openings, count))
    found = []
    for each, numbers in sample:
        known = [(each.scores[number], next(rewards)) for number in numbers]
        kept = [(score, sum(got) / len(got)) for score, got in known if score is not None and got]
        if dropped is not None and len(kept) < len(known):
            dropped["candidates without a continuation that has a reward"] += len(known) - len(kept)
        found.append(
            Returns(
                task_hash=each.candidates.turn.trajectory.task_hash,
                scores=tuple(score for score, _ in kept),
                returns=tuple(value for _, value in kept),
            )
        )
    return found


def agreement(found: Sequence[Returns]) -> Agreement | None:
    """Return the agreement of scores with returns; None if the returns are equal within every turn."""
    varied = [each for each in found if len(set(each.returns)) > 1]
    if not varied:
        return None
    shares: dict[str, list[float]] = {}
    ranks: dict[str, list[float]] = {}
    for each in varied:
        right = list(_right(each))
        shares.setdefault(each.task_hash, []).append(sum(right) / len(right))
        spearman = correlation(each.scores, each.returns).spearman
        if spearman is not None:
            ranks.setdefault(each.task_hash, []).append(spearman)
    return Agreement(
        pairwise=mean_interval(shares.values()),
        spearman=mean_interval(ranks.values(), (-1.0, 1.0)),
        turns=len(varied),
        candidates=sum(len(each.returns) for each in found),
    )


def _right(turn: Returns) -> Iterator[float]:
    """Yield the agreement (`agree`) of scores and returns for each pair of candidates with different returns."""
    for (score, value), (other, worse) in combinations(
        zip(turn.scores, turn.returns, strict=True), 2
    ):
        right = agree((score, other), (value, worse))
        if right is not None:
            yield right


def agree(scores: tuple[float, float], returns: tuple[float, float]) -> float | None:
    """Return 1 if the candidate with the higher return has the higher score, 0 if not, 0.5 for equal scores.

    Return None if the returns are equal.
    """
    if returns[0] == returns[1]:
        return None
    if scores[0] == scores[1]:
        return 0.5
    return float((scores[0] > scores[1]) == (returns[0] > returns[1]))


def _distinct(scored: Scored) -> list[int]:
    """Return the indices of the scored candidates that differ in wording.

    Of several scored candidates with the same wording, only the first is included.
    """
    first: dict[str, int] = {}
    for number, (reply, score) in enumerate(
        zip(scored.candidates.replies, scored.scores, strict=True)
    ):
        if score is not None:
            first.setdefault(reply.text.strip(), number)
    return list(first.values())


def _chance(seed: int, turn: Turn) -> random.Random:
    return random.Random(derive_seed("continuations", seed, turn.trajectory.id, turn.number))  # noqa: S311 - no secret
