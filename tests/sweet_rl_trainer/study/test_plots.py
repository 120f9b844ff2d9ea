from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from sweet_rl_trainer.study.methods import METHODS
from sweet_rl_trainer.study.plots import draw
from sweet_rl_trainer.study.results import Scaling
from sweet_rl_trainer.study.tables import full_label

SVG = "{http://www.w3.org/2000/svg}"
CHARTS = {
    "success",
    "training-main",
    "training-ablation",
    "training-remedy",
    "best-of-n",
    "scaling",
    "turns",
}


@pytest.fixture(scope="module")
def drawn(make):
    """The charts of finished studies, by their number of seeds."""
    return {seeds: draw(make.whole(seeds)) for seeds in (1, 3)}


def read(chart):
    return ElementTree.fromstring(chart)


def box(element):
    """About where a text is: left, right, top, bottom."""
    x, y = float(element.get("x")), float(element.get("y"))
    width = len(element.text) * (7.3 if element.get("font-weight") else 6.4)
    left = {"end": x - width, "middle": x - width / 2}.get(element.get("text-anchor"), x)
    return left, left + width, y - 9, y + 3


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("name", sorted(CHARTS))
def test_no_text_lies_over_another_or_outside(drawn, name, seeds):
    root = read(drawn[seeds][name])
    boxes = [(each.text, box(each)) for each in root.iter(f"{SVG}text")]
    width, height = float(root.get("width")), float(root.get("height"))
    for words, (left, right, top, bottom) in boxes:
        assert left >= 0, words
        assert right <= width, words
        assert top >= 0, words
        assert bottom <= height, words
    for (one, first), (other, second) in combinations(boxes, 2):
        beside = first[1] <= second[0] or second[1] <= first[0]
        assert beside or first[3] <= second[2] or second[3] <= first[2], (one, other)


def test_charts_are_drawn_for_what_there_is(make, drawn):
    assert drawn[3].keys() == CHARTS
    assert draw(make.results()) == {}
    trained = make.row("sweet", {}, tries=[make.tried((0, "01"), (5, "11"))])
    assert draw(make.results([trained])).keys() == {"training-main"}
    assert draw(make.results([make.row("rft", {"a": "1"})])).keys() == {"success", "turns"}


def test_charts_hold_on_a_dark_page(drawn):
    for chart in drawn[1].values():
        background = read(chart).find(f"{SVG}rect")
        assert background.get("fill") == "#ffffff"
        assert background.get("width") == read(chart).get("width")


def test_success_is_where_the_axis_says(make):
    rows = [make.row("zero-shot", make.marks(5)), make.row("sweet", make.marks(15))]
    root = read(draw(make.results(rows))["success"])
    numbers = {each.text: float(each.get("x")) for each in root.iter(f"{SVG}text")}
    scale = (numbers["80"] - numbers["0"]) / 80
    dots = [float(each.get("cx")) for each in root.iter(f"{SVG}circle")]
    assert dots[::2] == pytest.approx(
        [numbers["0"] + 25 * scale, numbers["0"] + 75 * scale], abs=0.02
    )
    assert dots[::2] == dots[1::2], "with one seed it is the mean"
    assert {"25.0 %", "75.0 %", "Zero-shot", "SWEET-RL"} <= numbers.keys()


def test_every_method_is_named_where_it_is_drawn(drawn):
    found = drawn[3]
    for method in METHODS:
        label = full_label(method).replace("&", "&amp;")
        assert f">{label}</text>" in found["success"]
        assert f">{label}</text>" in found["turns"]
        if method.goal:
            assert f">{label}</text>" in found[f"training-{method.group}"]


def test_chosen_checkpoints_are_ringed(make):
    tries = [make.tried((0, "0001"), (10, "0111"), (20, "0000"))]
    rows = [make.row("sweet", {}, seed=seed, tries=tries, step=10) for seed in (0, 1)]
    root = read(draw(make.results(rows))["training-main"])
    rings = [float(each.get("cx")) for each in root.iter(f"{SVG}circle")]
    assert len(rings) == 2 * 4  # seeds and measures
    middle = [each for each in root.iter(f"{SVG}text") if each.text == "10"]
    assert sorted(set(rings)) == pytest.approx(
        sorted(float(each.get("x")) for each in middle if each.get("text-anchor") == "middle")
    )


def test_bars_are_as_high_as_the_shares(make):
    test = make.outcomes({"a": "110"}, turns=2) + make.outcomes({"b": "0"}, turns=3)
    root = read(draw(make.results([make.row("sweet", test)]))["turns"])
    rects = [float(each.get("height")) for each in root.iter(f"{SVG}rect")][1:]
    unit = rects[0] / 0.75
    assert rects == pytest.approx([0.75 * unit, 0.5 * unit, 0.25 * unit, 0], abs=0.02)


def test_zero_shot_stands_beside_curves_with_their_own_seeds(make):
    quarter = Scaling(method="sweet", seed=0, share=0.25, tasks=5, test=make.outcomes({"a": "1"}))
    rows = [
        make.row("zero-shot", {"a": "1", "b": "0"}),
        make.row("zero-shot", {"a": "1", "b": "1"}, seed=1),
        make.row("sweet", {"a": "1", "b": "1"}),
    ]
    root = read(draw(replace(make.results(rows), scaling=(quarter,)))["scaling"])
    texts = {each.text: float(each.get("y")) for each in root.iter(f"{SVG}text")}
    (floor,) = (
        each for each in root.iter(f"{SVG}polyline") if each.get("stroke-dasharray") == "2 4"
    )
    height = float(floor.get("points").split()[0].partition(",")[2])
    assert height == pytest.approx((texts["40"] + texts["60"]) / 2 - 4, abs=0.5)
