"""A potential on the scale of the reward, so that questions can be compared with answers.

    Φ'(o) = a + b Φ(o),   a and b by least squares of R on Φ(o_T) over dialogues that answered

R is a dialogue's reward, o_T the dialogue before its answer, and o_1 the request alone. Φ' is the expected reward of an
answer now, under the policy that wrote the dialogues, and the credit of a question is the increase of this expectation.
Φ' orders questions as Φ does. Φ' is also a potential, so the credits of a dialogue still telescope. `facts` with p > 0
uses the line fitted at p = 0, because Φ_p is a mean of values of Φ_0, and a line maps means to means. With `relative`
(for `gain`), Φ(o) − Φ(o_1) replaces Φ(o), because the likelihood of a reference before the dialogue differs between
tasks and says little about the dialogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import StatisticsError, linear_regression

from msgspec import Struct

from colbench.errors import UserError
from sweet_rl_trainer.methods.credit.state import Potential, State

FEWEST = 10
"""Minimum number of dialogues to which a line is fitted."""


class NoScaleError(UserError):
    """An error because too few dialogues have a potential, or the reward does not increase with the potential."""


class Line(Struct, frozen=True, kw_only=True):
    """The linear function a + b Φ."""

    intercept: float
    slope: float


class Scaled:
    """A potential in the units of the reward."""

    def __init__(self, potential: Potential, line: Line, *, relative: bool) -> None:
        self._potential = _Relative(potential) if relative else potential
        self._line = line

    def __call__(self, states: Sequence[State]) -> list[float | None]:
        """Return a + b Φ for each state; None for a state without Φ. With `relative`, Φ(o) − Φ(o_1) replaces Φ."""
        a, b = self._line.intercept, self._line.slope
        return [None if each is None else a + b * each for each in self._potential(states)]


class _Relative:
    def __init__(self, potential: Potential) -> None:
        self._potential = potential

    def __call__(self, states: Sequence[State]) -> list[float | None]:
        found = self._potential([each for state in states for each in (state.start, state)])
        return [
            None if first is None or here is None else here - first
            for first, here in zip(found[::2], found[1::2], strict=True)
        ]


def fit(potential: Potential, ends: Sequence[tuple[State, float]], *, relative: bool) -> Line:
    """Fit a line that gives a dialogue's reward from the potential before its answer, by least squares.

    Raises NoScaleError if too few answers have a potential, or the reward does not increase with the potential.

    Args:
        potential: Φ.
        ends: For each dialogue that ended with an answer, the state before the answer and the dialogue's reward.
        relative: True to fit the reward to Φ(o) − Φ(o_1) instead of Φ(o).
    """
    read = _Relative(potential) if relative else potential
    values = read([state for state, _ in ends])
    known = [
        (value, reward)
        for value, (_, reward) in zip(values, ends, strict=True)
        if value is not None
    ]
    if len(known) < FEWEST:
        raise NoScaleError(f"only {len(known)} answers have a potential; {FEWEST} are needed")
    try:
        slope, intercept = linear_regression(*zip(*known, strict=True))
    except StatisticsError:
        slope = 0.0
    if slope <= 0:
        raise NoScaleError(
            f"over {len(known)} answers, the reward does not rise with the potential (slope {slope:.3g})"
        )
    return Line(intercept=intercept, slope=slope)
