"""The exact values of states; a state consists of the revealed decisions and the number of remaining turns.

Values are stored in lattices: arrays with one axis for each open decision. On an axis, index 0 means that the decision
is unrevealed, and index 1 + j that its choice j was revealed. Choice 0 is the usual one, which the answer uses for an
unrevealed decision.

    R(K)     = E[reward of the answer | K]                            the value of answering
    V_0      = 0                                                      the turn limit ended the dialogue: no answer
    V_n(K)   = max(R(K), max_i E[V_{n−1}(K and what i is)] − κ)       the best policy
    V^π_n(K) = π(answer) R + Σ_i π(i) (E[V^π_{n−1}(K and what i is)] − κ) + π(useless) (V^π_{n−1} − κ)

K is what has been revealed (an index of the lattice), n the number of remaining turns, κ the cost of a question, and π
the probability of an action. i runs over the unrevealed decisions. The expectations are over the belief, in which the
decisions are independent. A useless question leaves K as it is, so the best policy never needs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Lattice = NDArray[np.float64]
"""A number for each combination of revealed choices; the axis of a decision with n choices has the length 1 + n."""
Outputs = NDArray[np.int32]
"""The results of all possible functions, encoded as integers; -1 stands for an error.

Axis 0 is the calls. Each further axis is the choices of one decision.
"""
Weights = Sequence[NDArray[np.float64]]
"""The probability of each choice, for each decision."""
Measure = Literal["tests", "success"]
"""The reward of an answer: the share of tests that it passes, or 1 if it passes all of them and 0 otherwise."""


class Asker(Struct, frozen=True, kw_only=True):
    """A policy that knows which decisions are unrevealed, and draws its action independently of earlier turns."""

    haste: float
    """Probability of answering although a decision is unrevealed."""
    focus: float
    """Probability that a question is about an unrevealed decision; the decision is drawn uniformly."""
    lingers: float
    """Probability of asking a useless question when every decision is revealed."""
    mindful: float
    """Probability of noticing the last turn, in which the policy then answers."""

    def answers(self, untold: Any, turns: int) -> Any:
        """Return the probability of answering.

        `untold` is the number of unrevealed decisions, and `turns` is the number of remaining turns.
        """
        chance = np.where(untold > 0, self.haste, 1 - self.lingers)
        return self.mindful + (1 - self.mindful) * chance if turns == 1 else chance


def answer_values(outputs: Outputs, weights: Weights, measure: Measure = "tests") -> Lattice:
    """Return R for each state: the expected reward of an answer in this state.

    The answer assumes the usual choice for each decision that is not revealed yet.
    """
    decisions = outputs.ndim - 1
    values = np.empty([choices + 1 for choices in outputs.shape[1:]])
    for told in product((False, True), repeat=decisions):
        written = outputs[(slice(None), *(slice(None) if each else slice(1) for each in told))]
        rewards = reward(written, outputs, measure)
        for axis in range(decisions):
            if not told[axis]:
                rewards = _expected(rewards, weights[axis], axis)
        values[tuple(slice(1, None) if each else slice(1) for each in told)] = rewards
    return values


def reward(written: Outputs, right: Outputs, measure: Measure) -> Lattice:
    """Return the rewards of answers with the results `written`; `right` contains the correct results.

    Axis 0 of both arrays is the calls.
    """
    passed = (written == right) & (written >= 0)
    return np.asarray(passed.mean(axis=0) if measure == "tests" else passed.all(axis=0), np.float64)


def best_values(answers: Lattice, weights: Weights, turns: int, cost: float) -> list[Lattice]:
    """Return the values V_0 to V_turns of the best policy; `cost` is κ."""
    values = [np.zeros_like(answers)]
    for _ in range(turns):
        asked = [told(values[-1], each, axis) - cost for axis, each in enumerate(weights)]
        values.append(np.maximum.reduce([answers, *asked]))
    return values


def asker_values(
    answers: Lattice, weights: Weights, asker: Asker, turns: int, cost: float
) -> list[Lattice]:
    """Return the values V_0 to V_turns of an asker's policy, where V_n is for n remaining turns. `cost` is κ."""
    places: tuple[NDArray[np.int64], ...] = np.indices(answers.shape, sparse=True)
    untold = [place == 0 for place in places]
    count = np.zeros(answers.shape, np.int64)
    for each in untold:
        count = count + each
    values = [np.zeros_like(answers)]
    for turn in range(1, turns + 1):
        after = values[-1]
        asked = np.zeros_like(answers)
        for axis, (here, chances) in enumerate(zip(untold, weights, strict=True)):
            asked += np.where(here, told(after, chances, axis), 0.0)
        focus = np.where(count > 0, asker.focus, 0.0)
        asking = focus * asked / np.maximum(count, 1) + (1 - focus) * after - cost
        answering = asker.answers(count, turn)
        values.append(answering * answers + (1 - answering) * asking)
    return values


def told(values: Lattice, weights: NDArray[np.float64], axis: int) -> Lattice:
    """Return the expected values after the decision of `axis` is revealed; -inf where it was already revealed."""
    found = np.full_like(values, -np.inf)
    place = [slice(None)] * values.ndim
    place[axis] = slice(1)
    choices = np.take(values, range(1, values.shape[axis]), axis)
    found[tuple(place)] = _expected(choices, weights, axis)
    return found


def value_after(
    values: Lattice, weights: Weights, known: Sequence[int], asked: Sequence[int]
) -> float:
    """Return the expected value after the human has revealed some decisions.

    Args:
        values: The values of the next turn.
        weights: The belief: the probabilities of the choices on each axis.
        known: The index on each axis of `values` before the human's reply.
        asked: The axes of the decisions that are revealed.
    """
    place = tuple(
        slice(1, None) if axis in asked else slice(each, each + 1)
        for axis, each in enumerate(known)
    )
    return expected(values[place], weights, asked)


def expected(values: Lattice, weights: Weights, axes: Sequence[int]) -> float:
    """Return the expected value over the choices on `axes`; all other axes of `values` must have length one."""
    for axis in axes:
        values = _expected(values, weights[axis], axis)
    return float(values.item())


def _expected(values: Lattice, weights: NDArray[np.float64], axis: int) -> Lattice:
    shape = [1] * values.ndim
    shape[axis] = len(weights)
    return np.asarray((values * weights.reshape(shape)).sum(axis=axis, keepdims=True))
