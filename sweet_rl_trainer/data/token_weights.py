"""The weights w of assistant tokens in a sequence's score S = Σ w (log π_θ − log π_ref).

| rule | w of a token of turn t | source |
|---|---|---|
| `turn-mean` | 1 / L_t | the paper's critic: the mean of each turn, summed over turns |
| `turn-mean-averaged` | 1 / (T · L_t) | the same, averaged over the T turns, so that the score does not grow with T |
| `trajectory-mean` | 1 / Σ_t L_t | the released code's critic: one mean over all assistant tokens |
| `sum` | 1 | DPO: multi-turn DPO and the actor |

L_t is the number of tokens of turn t, with its end-of-turn token. Tokens outside the agent's turns have weight 0. A
method may define its own rule as a function (`Weigh`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from colbench.errors import UserError

Rule = Literal["turn-mean", "turn-mean-averaged", "trajectory-mean", "sum"]

RULES: tuple[Rule, ...] = get_args(Rule)
Weigh = Callable[[Sequence[int]], Sequence[float]]
"""A function from the assistant turn of each token (-1: outside all assistant turns) to the weight of each token."""


def weigh(turns: Sequence[int], rule: Rule | Weigh) -> Sequence[float]:
    """Return the weight of each token; `turns[i]` is the assistant turn of token i, or -1 outside assistant turns.

    Raises UserError for an unknown rule.
    """
    if callable(rule):
        return rule(turns)
    if rule not in RULES:
        raise UserError(f"token_weights {rule!r}: expected one of {', '.join(RULES)}")
    lengths = Counter(turn for turn in turns if turn >= 0)
    by_turn = {turn: _weight(rule, length, lengths) for turn, length in lengths.items()}
    return [by_turn.get(turn, 0.0) for turn in turns]


def _weight(rule: Rule, length: int, lengths: Counter[int]) -> float:
    match rule:
        case "turn-mean":
            return 1 / length
        case "turn-mean-averaged":
            return 1 / (length * len(lengths))
        case "trajectory-mean":
            return 1 / lengths.total()
        case "sum":
            return 1.0
