from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweet_rl_trainer.study.svg import Panel, ceiling, document, spread, text, ticks


def panel(**changes):
    edges = {"left": 10, "top": 20, "width": 100, "height": 50, "across": (0, 4), "up": (0, 1)}
    return Panel(**(edges | changes))


def test_places_in_a_panel():
    assert [panel().x(value) for value in (0, 1, 4)] == [10, 35, 110]
    assert [panel().y(value) for value in (0, 0.5, 1)] == [70, 45, 20]
    downwards = panel(up=(4, 0))
    assert [downwards.y(value) for value in (0, 1, 4)] == [20, 32.5, 70]
    doubling = panel(across=(1, 16), doubling=True)
    assert [doubling.x(value) for value in (1, 2, 4, 16)] == [10, 35, 60, 110]
    assert panel(across=(3, 3)).x(3) == 60


def test_words_are_shown_as_they_are():
    hostile = '<script>&"\x00]]>'
    root = ElementTree.fromstring(document(hostile, 10, 10, [text(hostile, 0, 0)]))
    shown = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert shown == ['<script>&" ]]>']
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


@pytest.mark.parametrize(
    ("edges", "most", "expected"),
    [
        ((0, 1), 5, [0, 0.25, 0.5, 0.75, 1]),
        ((0, 0.8), 3, [0, 0.4, 0.8]),
        ((0, 150), 4, [0, 50, 100, 150]),
        ((3, 11), 5, [4, 6, 8, 10]),
        ((2, 2), 5, [2]),
    ],
)
def test_ticks_are_round(edges, most, expected):
    assert ticks(*edges, most) == pytest.approx(expected)


@given(st.floats(0.001, 1e6), st.integers(3, 9))
def test_ticks_are_no_more_than_wanted_and_evenly_set(high, most):
    found = ticks(0, high, most)
    assert 2 <= len(found) <= most
    steps = [second - first for first, second in pairwise(found)]
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-6)


@given(st.floats(1e-6, 1e9))
def test_the_ceiling_is_near(most):
    assert most <= ceiling(most) * (1 + 1e-9) <= 2 * most


def test_of_nothing_the_ceiling_is_one():
    assert ceiling(0) == 1.0


@given(st.lists(st.floats(0, 100), max_size=8), st.floats(1, 12))
def test_labels_keep_apart_in_their_order_and_within_bounds(places, gap):
    found = spread(places, gap, 0, 100)
    assert all(-1e-6 <= each <= 100 + 1e-6 for each in found)
    for one, first in zip(places, found, strict=True):
        for other, second in zip(places, found, strict=True):
            assert one >= other or first <= second
    assert all(second - first >= gap - 1e-6 for first, second in pairwise(sorted(found)))


def test_labels_move_only_as_far_as_they_must():
    assert spread([90, 10, 50], 10, 0, 100) == [90, 10, 50]
    assert spread([50, 52], 10, 0, 100) == [46, 56]
    assert spread([1, 1], 10, 0, 100) == [0, 10]
    assert spread([99, 98], 10, 0, 100) == [100, 90]
