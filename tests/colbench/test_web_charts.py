from __future__ import annotations

from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from colbench.web.charts import (
    Curve,
    Dot,
    bar_chart,
    curve_chart,
    interval_bar,
    pareto_front,
    scatter_chart,
)
from colbench.web.names import place_names
from colbench.web.plot import LARGE, SMALL, Plot, amount_ticks, round_ceiling, spread


def drawn(svg: str, tag: str, kind: str = "") -> list[ElementTree.Element]:
    found = ElementTree.fromstring(svg).iter(tag)
    return [each for each in found if not kind or kind in str(each.get("class")).split()]


def test_bar_heights_are_proportional_to_their_counts():
    bars = drawn(bar_chart("t", "abc", [10, 0, 20], "u"), "rect", "bar")
    heights = [float(bar.get("height")) for bar in bars]
    assert heights[1] == 0
    assert abs(heights[2] - 2 * heights[0]) < 0.2


def test_bars_stay_inside_the_picture_for_any_counts():
    for most in (0, 1, 7, 999, 123_456):
        for bar in drawn(bar_chart("t", ["x"] * 40, [most] * 40, "u"), "rect", "bar"):
            assert 0 <= float(bar.get("y")) <= SMALL.height
            assert 0 <= float(bar.get("x")) <= SMALL.width


def test_every_bar_has_a_tooltip_with_its_count():
    tips = [each.text for each in drawn(bar_chart("t", "ab", [3, 1200], "turns"), "title")]
    assert tips == ["a turns: 3", "b turns: 1,200"]


def test_a_long_axis_has_at_most_12_labels():
    svg = bar_chart("t", [str(n) for n in range(100)], [1] * 100, "u")
    assert len(drawn(svg, "text", "tick")) <= 12
    svg = curve_chart("t", [Curve(title="a", shares=[0.5] * 100)])
    assert len(drawn(svg, "text", "tick")) <= 12


def test_a_curve_with_a_band_rises_with_its_shares_and_marks_them():
    svg = curve_chart("t", [Curve(title="a", shares=[0.1, 0.5], band=[(0.0, 0.2), (0.4, 0.6)])])
    low, high = drawn(svg, "circle", "mark")
    assert float(low.get("cy")) > float(high.get("cy"))
    (band,) = drawn(svg, "polygon", "band")
    assert len(band.get("points").split()) == 4


def test_the_names_of_curves_that_end_together_do_not_overlap():
    for end in (0.0, 0.5, 1.0):
        curves = [
            Curve(title="a", name="a", shares=[end, end], emphasis="reference"),
            Curve(title="b", name="b", shares=[end, end]),
        ]
        heights = sorted(float(n.get("y")) for n in drawn(curve_chart("t", curves), "text", "name"))
        assert heights[1] - heights[0] >= 12
        assert heights[1] <= LARGE.height - LARGE.bottom + 4


def test_names_that_do_not_fit_below_the_top_are_left_out():
    curves = [Curve(title=str(n), name=str(n), shares=[0.5]) for n in range(40)]
    names = drawn(curve_chart("t", curves, size=SMALL), "text", "name")
    assert 5 < len(names) < 40
    assert all(float(each.get("y")) >= SMALL.top for each in names)


def test_spread_moves_only_names_that_are_too_close():
    assert spread([20.0, 60.0], 100.0) == [20.0, 60.0]
    assert spread([98.0, 99.0], 100.0) == [86.0, 100.0]


def test_a_chart_without_data_is_drawn():
    assert drawn(curve_chart("t", []), "line", "axis")
    assert drawn(bar_chart("t", [], [], "u"), "line", "axis")
    assert drawn(scatter_chart("t", "u", []), "line", "axis")
    assert interval_bar(None, None, None) == ""


def test_the_pareto_front_has_dots_unbeaten_at_the_same_or_lower_cost():
    dots = [
        Dot(name=name, address="#", x=x, y=y)
        for name, x, y in (("a", 1, 0.2), ("b", 2, 0.1), ("c", 3, 0.5), ("d", 3, 0.4))
    ]
    reference = Dot(name="r", address="#", x=0, y=1.0, reference=True)
    assert [dot.name for dot in pareto_front([*dots, reference])] == ["a", "c"]


def test_hostile_text_in_charts_is_escaped_and_loses_control_characters():
    hostile = '</title><script>"\x1b\u202e'
    svg = scatter_chart(hostile, "u", [Dot(name=hostile, address='"><script>', x=1, y=0.5)])
    assert isinstance(svg, Markup)
    assert "<script>" not in svg
    assert "\x1b" not in svg
    assert drawn(svg, "circle", "dot")
    svg = curve_chart("t", [Curve(title=hostile, name=hostile, shares=[0.5])])
    assert "<script>" not in svg
    assert "\x1b" not in svg


def test_a_name_that_would_overlap_is_placed_on_the_other_side_or_left_out():
    plot = Plot(size=LARGE, first=0.0, last=1.0)
    left, right = place_names(plot, [("one", 200.0, 100.0, False), ("two", 230.0, 100.0, False)])
    assert left.before
    assert not right.before
    crowd = [("name", 200.0 + n, 100.0, False) for n in range(10)]
    assert len(place_names(plot, crowd)) < 10


def test_an_axis_ends_at_a_multiple_of_its_tick_spacing():
    found = [round_ceiling(most) for most in (0, 0.012, 0.9, 3.1, 10, 101)]
    assert found == pytest.approx([1.0, 0.015, 1.0, 4.0, 10, 150])


@pytest.mark.parametrize("most", [1, 1.1, 3.1, 5.004, 7, 10, 12, 101, 99_999])
def test_an_axis_of_counts_has_whole_number_ticks(most):
    plot = Plot(size=LARGE, first=0.0, last=round_ceiling(most))
    labels = [label.replace(",", "") for _, label in amount_ticks(plot)]
    assert 2 <= len(labels) <= 6
    assert all(label.isdigit() for label in labels)
    assert float(labels[-1]) == plot.last >= most * 0.999
