"""The credit of each turn, computed from a potential Φ of dialogues; the last turn is the answer.

    A_t = Φ(o_{t+1}) − Φ(o_t) − κ      a question, t < T
    A_T = R − Φ(o_T)                   the last turn: the answer

o_t is the dialogue before turn t, R its final reward, and κ the cost of a question. The credits of a dialogue add up to
R − Φ(o_1) − κ (T − 1). So for every Φ, a dialogue gets the credit of its outcome, and extra turns earn nothing by
themselves.

Source: potential-based shaping (Ng, Harada & Russell, ICML 1999, theorem 1): with F = γ Φ(s') − Φ(s) added to the
rewards, optimal policies stay optimal. Here γ = 1, Φ of the end is 0, and the only reward is R.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def question_advantage(before: float, after: float, *, cost: float = 0.0) -> float:
    """Return the credit of a question: Φ after the human's answer, minus Φ before the question, minus `cost` (κ)."""
    return after - before - cost


def answer_advantage(before: float, reward: float) -> float:
    """Return the credit of the turn that ended the dialogue, from Φ before it and the dialogue's reward."""
    return reward - before


def advantages(potentials: Sequence[float], reward: float, *, cost: float = 0.0) -> list[float]:
    """Return the credit of each turn; the last turn is the answer.

    Args:
        potentials: Φ before each of the T turns, shape [T].
        reward: The dialogue's reward, R.
        cost: The cost of a question, κ.
    """
    questions = [question_advantage(*both, cost=cost) for both in pairwise(potentials)]
    return [*questions, answer_advantage(potentials[-1], reward)]
