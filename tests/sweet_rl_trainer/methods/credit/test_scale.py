"""The line that maps a potential to the scale of the reward, compared with worked examples."""

from __future__ import annotations

import pytest

from colbench.errors import UserError
from colbench.messages import Message
from colbench.task import Hidden, Task
from sweet_rl_trainer.methods.credit.advantage import advantages
from sweet_rl_trainer.methods.credit.scale import FEWEST, Line, Scaled, fit
from sweet_rl_trainer.methods.credit.state import State


def state(number, *said):
    """Return the state of the task with this number after the given questions."""
    task = Task(
        id=str(number), domain="backend", request=f"{number}.", hidden=Hidden(reference="x")
    )
    found = State(task=task, messages=(Message(role="user", content=f"{number}."),))
    for each in said:
        found = found.after(each, "Yes.")
    return found


def potential(states):
    """Return a potential: ten times the task's number, plus the number of questions so far."""
    return [10 * int(each.task.id) + len(each.said) for each in states]


ENDS = [
    (state(number, *"ab"[:asked]), reward)
    for number, asked, reward in [(1, 0, 0.0), (2, 1, 0.5), (3, 2, 1.0), (4, 2, 0.5), (5, 0, 0.25)]
    * 2
]


def test_the_line_is_a_least_squares_fit():
    """Fit rewards 0, 1/2, 1, 1/2, 1/4 to Φ − Φ(o_1) = 0, 1, 2, 2, 0: means 0.45 and 1, slope 1.25 / 4."""
    line = fit(potential, ENDS, relative=True)
    assert (line.slope, line.intercept) == pytest.approx((0.3125, 0.1375))


def test_a_scaled_potential_is_affine_in_the_potential_or_its_rise():
    scaled = Scaled(potential, Line(intercept=0.1, slope=0.5), relative=True)
    assert scaled([state(7), state(3, "a"), state(3, "a", "b")]) == pytest.approx([0.1, 0.6, 1.1])
    plain = Scaled(potential, Line(intercept=0.1, slope=0.5), relative=False)
    assert plain([state(3, "a")]) == pytest.approx([15.6])


def test_advantages_of_a_scaled_potential_telescope():
    scaled = Scaled(potential, Line(intercept=0.1, slope=0.5), relative=True)
    potentials = scaled([state(3), state(3, "a"), state(3, "a", "b")])
    assert sum(advantages(potentials, 1.0)) == pytest.approx(1.0 - 0.1)


def test_a_state_without_a_potential_has_no_scaled_potential():
    def some(states):
        return [None if each.task.id == "2" else 1.0 for each in states]

    for relative in (False, True):
        scaled = Scaled(some, Line(intercept=0.0, slope=1.0), relative=relative)
        assert [each is None for each in scaled([state(1), state(2)])] == [False, True]


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (ENDS[: FEWEST - 1], r"9 answers have a potential; 10 are needed"),
        (
            [(each, -reward) for each, reward in ENDS],
            r"does not rise with the potential \(slope -0.312\)",
        ),
        ([(state(1), reward) for _, reward in ENDS], r"slope 0\)"),
    ],
)
def test_a_fit_with_few_dialogues_or_without_a_positive_slope_is_refused(ends, said):
    with pytest.raises(UserError, match=said):
        fit(potential, ends, relative=True)
