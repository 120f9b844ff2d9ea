"""The choice of a learning rate."""

from __future__ import annotations

import pytest

from sweet_rl_trainer.study.choose import best_rate, by_rate


def rated(make, **marks):
    """Return tries: `r1="10 11"` is a try of rate 1 for each of two seeds, separated by a space."""
    return [
        make.tried("rft", float(name[1:]), seed, one)
        for name, each in marks.items()
        for seed, one in enumerate(each.split())
    ]


@pytest.mark.parametrize(
    ("marks", "best"),
    [
        ({"r1": "1100 1000", "r2": "1110 1000"}, 2.0),
        ({"r1": "1111 0000", "r2": "1100 1110"}, 2.0),
        ({"r1": "10 10", "r2": "1+ 10"}, 2.0),
        ({"r3": "10 10", "r2": "10 10"}, 2.0),
    ],
    ids=["more success", "over all seeds", "then tests passed", "then the lowest rate"],
)
def test_the_rate_is_chosen_from_all_seeds_together(marks, best, make):
    assert best_rate(by_rate(rated(make, **marks))) == best


def test_outcomes_of_all_seeds_are_grouped_by_rate(make):
    found = by_rate(rated(make, r2="10 11 00", r1="1 0 0"))
    assert list(found) == [1.0, 2.0]
    assert [len(each) for each in found.values()] == [3, 6]
