"""Pairs of replies that the actor learns from: which of a turn's candidates is chosen, and which is rejected.

| rule | chosen | rejected |
|---|---|---|
| `halves` | drawn from the better half | drawn from the worse half (the paper) |
| `best-worst` | the best | the worst |
| `margin` | any | any whose score is smaller by the margin or more |

Replies with equal scores and replies with equal words are never paired, and replies without a score are left out. If
the number of scored replies is odd, the middle one is in neither half.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations, product
from typing import Literal, get_args

from colbench.config import derive_seed
from colbench.errors import UserError
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import Example, PairExample, Side
from sweet_rl_trainer.data.pairs import NoPairsError
from sweet_rl_trainer.data.token_weights import Rule as WeightRule
from sweet_rl_trainer.methods.ranking.turns import Scored, encode_candidates

Rule = Literal["halves", "best-worst", "margin"]
RULES: tuple[Rule, ...] = get_args(Rule)
Loss = Literal["dpo", "nll"]
"""The actor's loss: DPO on pairs, or the NLL of the chosen replies, without the rejected ones."""
Imitate = Literal["chosen", "successes"]
"""The chosen replies whose NLL is part of the loss: all chosen replies, or only successful answers."""

ROUNDING = 1e-6
"""Maximum difference between two scores that count as equal; float32 rounding causes such differences."""

CANDIDATE = ", candidate "
"""Separator between the name of a turn and the number of a reply."""
Choice = tuple[int, int]
"""The indices of the chosen and of the rejected reply."""


def choose(
    scored: Scored,
    rule: Rule = "halves",
    *,
    pairs_per_turn: int = 4,
    margin: float = 0.0,
    seed: int = 0,
) -> list[Choice]:
    """Draw at most `pairs_per_turn` different pairs of a turn's candidates from all that the rule allows.

    The random numbers depend only on the seed and the turn. `margin` is the minimum difference of scores for the rule
    "margin". Raises UserError for an unknown rule, fewer than one pair per turn or a margin below 0.
    """
    if rule not in RULES:
        raise UserError(f"pairs {rule!r}: expected one of {', '.join(RULES)}")
    if pairs_per_turn < 1:
        raise UserError(f"pairs_per_turn {pairs_per_turn}: must be at least 1")
    if margin < 0:
        raise UserError(f"margin {margin:g}: must be at least 0")
    scores = {n: score for n, score in enumerate(scored.scores) if score is not None}
    replies = scored.candidates.replies
    allowed = [
        (one, other)
        for one, other in _allowed(scores, rule, margin)
        if scores[one] - scores[other] > ROUNDING
        and replies[one].text.strip() != replies[other].text.strip()
    ]
    turn = scored.candidates.turn
    chance = random.Random(derive_seed("pairs", seed, turn.trajectory.id, turn.number))  # noqa: S311 - no secret
    return chance.sample(allowed, min(pairs_per_turn, len(allowed)))


def _allowed(scores: dict[int, float], rule: Rule, margin: float) -> list[Choice]:
    order = sorted(scores, key=lambda n: -scores[n])
    match rule:
        case "halves":
            half = len(order) // 2
            return list(product(order[:half], order[len(order) - half :]))
        case "best-worst":
            return [(order[0], order[-1])] if order else []
        case "margin":
            return [
                (one, other)
                for one, other in permutations(order, 2)
                if scores[one] - scores[other] >= margin - ROUNDING
            ]


def no_pairs(turns: int, dropped: Counter[str]) -> NoPairsError:
    """Return the error for the case that no ranked turn of a training dialogue has a pair.

    `turns` is the number of ranked turns. `dropped` counts the turns, candidates and pairs left out, by reason.
    """
    said = (
        f"none of {turns} ranked turns has a pair left for training"
        if turns
        else "no turn of a training dialogue has scored candidates"
    )
    reasons = ", ".join(f"{reason}: {count}" for reason, count in dropped.items())
    return NoPairsError(f"{said} ({reasons})" if reasons else said)


def turn_examples(
    scored: Scored,
    chat: Chat,
    rule: Rule = "halves",
    *,
    loss: Loss = "dpo",
    token_weights: WeightRule = "sum",
    pairs_per_turn: int = 4,
    margin: float = 0.0,
    seed: int = 0,
    max_length: int,
    imitate: Imitate = "chosen",
    dropped: Counter[str],
) -> list[PairExample] | list[Side]:
    """Return a turn's pairs for training the actor; the `reward` of a side is its reply's score.

    The actor does not see c, the hidden information. With the loss "nll", return the chosen replies instead of pairs:
    each of them once, with token weights that sum to 1. Pairs with a side longer than `max_length` tokens are left out.
    `dropped` counts these pairs, and turns for which `choose` finds no pair. `imitate` sets `PairExample.imitated`. For
    `rule`, `pairs_per_turn`, `margin` and `seed`, see `choose`.
    """
    choices = choose(scored, rule, pairs_per_turn=pairs_per_turn, margin=margin, seed=seed)
    if not choices:
        dropped["turns without a pair"] += 1
        return []
    weights: WeightRule = "trajectory-mean" if loss == "nll" else token_weights
    examples = encode_candidates(scored.candidates, chat, weights)
    fitting = [c for c in choices if all(len(examples[n].ids) <= max_length for n in c)]
    if lost := len(choices) - len(fitting):
        dropped[f"pairs longer than {max_length} tokens"] += lost
    sides = {n: _side(scored, examples[n], n) for choice in fitting for n in choice}
    if loss == "nll":
        return [sides[one] for one in dict.fromkeys(one for one, _ in fitting)]
    task = scored.candidates.turn.trajectory.task_hash
    return [
        PairExample(
            chosen=sides[one],
            rejected=sides[other],
            task_hash=task,
            imitated=imitate == "chosen" or scored.solved[one],
        )
        for one, other in fitting
    ]


def _side(scored: Scored, example: Example, number: int) -> Side:
    return Side(
        examples=(example,),
        trajectory=f"{scored.candidates.turn.name}{CANDIDATE}{number + 1}",
        reward=scored.scores[number] or 0.0,
        turns=1,
        reply_tokens=scored.lengths[number],
    )
