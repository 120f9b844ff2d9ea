"""The line that puts a potential on the scale of the reward, against numbers made by hand."""

from __future__ import annotations

import pytest

from colbench.errors import UserError
from colbench.messages import Message
from colbench.task import Hidden, Task
from sweet_rl_trainer.methods.credit.advantage import advantages
from sweet_rl_trainer.methods.credit.scale import FEWEST, Line, Scaled, fit
from sweet_rl_trainer.methods.credit.state import State


def state(number, *said):
    """Return the state of its own task after some questions."""
    task = Task(
        id=str(number), domain="backend", request=f"{number}.", hidden=Hidden(reference="x")
    )
    found = State(task=task, messages=(Message(role="user", content=f"{number}."),))
    for each in said:
        found = found.after(each, "Yes.")
    return found


def words(states):
    """Return a potential: how often the agent has asked, and ten for each task."""
    return [10 * int(each.task.id) + len(each.said) for each in states]


ENDS = [
    (state(number, *"ab"[:asked]), reward)
    for number, asked, reward in [(1, 0, 0.0), (2, 1, 0.5), (3, 2, 1.0), (4, 2, 0.5), (5, 0, 0.25)]
    * 2
]


def test_the_line_is_that_of_least_squares():
    """Φ − Φ(o_1) is 0, 1, 2, 2, 0 with rewards 0, 1/2, 1, 1/2, 1/4: means 1 and 0.45, slope 1.25 / 4."""
    line = fit(words, ENDS, relative=True)
    assert (line.slope, line.intercept) == pytest.approx((0.3125, 0.1375))


def test_a_scaled_potential_is_affine_in_what_was_said_since_the_request():
    scaled = Scaled(words, Line(intercept=0.1, slope=0.5), relative=True)
    assert scaled([state(7), state(3, "a"), state(3, "a", "b")]) == pytest.approx([0.1, 0.6, 1.1])
    plain = Scaled(words, Line(intercept=0.1, slope=0.5), relative=False)
    assert plain([state(3, "a")]) == pytest.approx([15.6])


def test_its_sums_telescope_as_well():
    scaled = Scaled(words, Line(intercept=0.1, slope=0.5), relative=True)
    potentials = scaled([state(3), state(3, "a"), state(3, "a", "b")])
    assert sum(advantages(potentials, 1.0)) == pytest.approx(1.0 - 0.1)


def test_what_has_no_potential_has_none_when_scaled():
    def some(states):
        return [None if each.task.id == "2" else 1.0 for each in states]

    for relative in (False, True):
        scaled = Scaled(some, Line(intercept=0.0, slope=1.0), relative=relative)
        assert [each is None for each in scaled([state(1), state(2)])] == [False, True]


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (ENDS[: FEWEST - 1], r"9 answered dialogues have a potential; 10 are needed"),
        (
            [(each, -reward) for each, reward in ENDS],
            r"does not rise with the potential \(slope -0.312\)",
        ),
        ([(state(1), reward) for _, reward in ENDS], r"slope 0\)"),
    ],
)
def test_a_potential_that_says_nothing_of_the_reward_is_refused(ends, said):
    with pytest.raises(UserError, match=said):
        fit(words, ends, relative=True)
