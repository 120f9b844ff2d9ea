from __future__ import annotations

from xml.etree import ElementTree

from colbench.report.charts import HEIGHT, WIDTH, bars, by_turn
from colbench.report.model import Budget
from colbench.stats import Interval


def curve(rates: list[float | None], answered: list[float | None]) -> list[Budget]:
    return [
        Budget(
            turn=turn,
            success_rate=Interval(mean=rate, low=rate, high=rate, method="bootstrap"),
            answered=share,
        )
        for turn, (rate, share) in enumerate(zip(rates, answered, strict=True), start=1)
    ]


def drawn(svg: str, tag: str, kind: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(svg).iter(tag) if each.get("class") == kind]


def test_bars_are_as_high_as_their_counts():
    heights = [
        float(bar.get("height")) for bar in drawn(bars("t", "abc", [10, 0, 20], "u"), "rect", "bar")
    ]
    assert heights[1] == 0
    assert abs(heights[2] - 2 * heights[0]) < 0.2


def test_bars_stay_inside_the_picture_whatever_the_counts():
    for most in (0, 1, 7, 999, 123_456):
        for bar in drawn(bars("t", ["x"] * 40, [most] * 40, "u"), "rect", "bar"):
            assert 0 <= float(bar.get("y")) <= HEIGHT
            assert 0 <= float(bar.get("x")) <= WIDTH


def test_every_bar_tells_its_number():
    tips = [
        each.text
        for each in ElementTree.fromstring(bars("t", "ab", [3, 1200], "turns")).iter("title")
    ]
    assert tips == ["a turns: 3", "b turns: 1,200"]


def test_many_places_do_not_crowd_the_axis():
    svg = bars("t", [str(n) for n in range(100)], [1] * 100, "u")
    assert len(drawn(svg, "text", "tick middle")) <= 12


def test_the_curve_rises_with_success():
    points = drawn(by_turn("success", curve([0.1, 0.5], [0.2, 0.9])), "circle", "dot")
    assert float(points[0].get("cy")) > float(points[1].get("cy"))


def test_the_names_of_curves_that_end_together_do_not_overlap():
    for end in (0.0, 0.5, 1.0):
        svg = by_turn("success", curve([end, end], [end, end]))
        (success,) = drawn(svg, "text", "name")
        (answered,) = drawn(svg, "text", "name second")
        heights = float(answered.get("y")), float(success.get("y"))
        assert heights[1] - heights[0] >= 12
        assert max(heights) <= HEIGHT


def test_a_curve_without_a_scored_dialogue_is_drawn():
    assert "success –" in by_turn("success", curve([None, None], [None, None]))
