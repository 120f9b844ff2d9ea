from __future__ import annotations

from itertools import combinations

import pytest
from msgspec.structs import replace

pytest.importorskip("matplotlib", reason="matplotlib is not installed (colbench[train])")

from matplotlib.text import Text

from sweet_rl_trainer import figures
from sweet_rl_trainer.study.first.curves import MEASURES
from sweet_rl_trainer.study.first.methods import METHODS
from sweet_rl_trainer.study.first.plots import draw
from sweet_rl_trainer.study.first.results import Scaling
from sweet_rl_trainer.study.first.tables import full_label

pytestmark = pytest.mark.weekly

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
    """Return the charts of finished studies, by their number of seeds."""
    return {seeds: draw(make.whole(seeds)) for seeds in (1, 3)}


def lines(axes, label):
    """Return the lines and points with a label, each as the lists of its places."""
    found = [each for each in axes.lines if each.get_label() == label]
    return [(list(each.get_xdata()), list(each.get_ydata())) for each in found]


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def legend(figure):
    (found,) = figure.legends
    return {each.get_text() for each in found.get_texts()}


@figures.style()
def boxes(figure):
    """Return the visible texts of a figure, each with its box in pixels."""
    figure.draw_without_rendering()
    outside = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = axis.get_major_ticks()
            outside |= {each.label1 for each in ticks if not low <= each.get_loc() <= high}
            outside |= {each.label2 for each in ticks}
    shown = [each for each in figure.findobj(Text) if each not in outside and each.get_visible()]
    return [(each.get_text(), each.get_window_extent()) for each in shown if each.get_text()]


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("name", sorted(CHARTS))
def test_no_text_lies_over_another_or_outside(drawn, name, seeds):
    figure = drawn[seeds][name]
    found = boxes(figure)
    assert len(found) > 10
    for text, box in found:
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1, text
    for (one, first), (other, second) in combinations(found, 2):
        assert not first.shrunk(0.95, 0.8).overlaps(second), (one, other)


def test_charts_are_drawn_for_what_there_is(make, drawn):
    assert drawn[3].keys() == CHARTS
    assert draw(make.results()) == {}
    trained = make.row("sweet", {}, tries=[make.tried((0, "01"), (5, "11"))])
    assert draw(make.results([trained])).keys() == {"training-main"}
    assert draw(make.results([make.row("rft", {"a": "1"})])).keys() == {"success", "turns"}


def test_success_is_drawn_with_its_interval_and_seeds(make):
    rows = [
        make.row("zero-shot", make.marks(5)),
        make.row("sweet", make.marks(15)),
        make.row("sweet", make.marks(13), seed=1),
        make.row("pmi", make.marks(9)),
    ]
    figure = draw(make.results(rows))["success"]
    assert titles(figure) == ["The paper's comparison", "Ablations"]
    main, ablations = figure.axes
    assert [each.get_text() for each in main.get_yticklabels()] == ["Zero-shot", "SWEET-RL"]
    assert lines(main, "mean over seeds") == [([0.25], [0]), ([0.7], [1])]
    assert [sorted(xs) for xs, _ in lines(main, "each seed")] == [[0.25], [0.65, 0.75]]
    assert [xs for xs, _ in lines(ablations, "mean over seeds")] == [[0.45]]
    for (ends, _), ((mean,), _) in zip(
        lines(main, "95 % interval, by task"), lines(main, "mean over seeds"), strict=True
    ):
        assert ends[0] < mean < ends[1]
    assert [each.get_text() for each in main.texts] == ["25.0 %", "70.0 %"]
    assert main.get_xlim()[0] == 0
    assert main.get_ylim()[0] > main.get_ylim()[1], "the first method is at the top"


def test_every_method_is_named_where_it_is_drawn(drawn):
    found = drawn[3]
    named = {each.get_text() for axes in found["success"].axes for each in axes.get_yticklabels()}
    assert named == set(titles(found["turns"])) == {full_label(each) for each in METHODS}
    for method in METHODS:
        if method.goal:
            assert full_label(method) in titles(found[f"training-{method.group}"])


def test_training_has_a_row_for_each_method_and_a_panel_for_each_measure(make):
    tries = [make.tried((0, "0001"), (10, "0111"), (20, "0000"))]
    others = [make.tried((0, "0011"), (10, "0111"), (20, "000-"))]
    rows = [
        make.row("sweet", {}, tries=tries, step=10),
        make.row("sweet", {}, seed=1, tries=others, step=0),
        make.row("rft", {}, tries=tries, step=20),
    ]
    figure = draw(make.results(rows))["training-main"]
    assert len(figure.axes) == 2 * len(MEASURES)
    assert [each for each in titles(figure) if each] == ["Rejection fine-tuning", "SWEET-RL"]
    success, turns, unanswered, tokens = figure.axes[4:]
    steps = [0, 10, 20]
    assert lines(success, "each seed") == [(steps, [0.25, 0.75, 0]), (steps, [0.5, 0.75, 0])]
    assert lines(success, "mean over seeds") == [(steps, [0.375, 0.75, 0])]
    assert lines(success, "chosen checkpoint") == [([10], [0.75]), ([0], [0.5])]
    assert lines(unanswered, "mean over seeds") == [(steps, [0, 0, 0.125])]
    assert lines(turns, "mean over seeds") == [(steps, [3, 3, 3])]
    assert lines(tokens, "mean over seeds") == [(steps, [10, 10, 10])]
    assert [len(axes.collections) for axes in figure.axes[4:]] == [1, 0, 0, 0], "the band"
    assert [each.get_text() for axes in figure.axes[:4] for each in axes.texts] == [*MEASURES]
    assert {axes.get_ylim() for axes in figure.axes[::4]} == {success.get_ylim()}
    assert success.get_ylim()[0] == 0
    assert success.get_ylim()[1] > 0.75


def test_each_critic_is_drawn_next_to_that_of_sweet_rl(drawn):
    figure = drawn[3]["best-of-n"]
    sweet, *others = figure.axes
    assert titles(figure)[0] == "SWEET-RL"
    assert lines(sweet, "the critic of SWEET-RL") == []
    counts, means = (1, 2, 4), [0.3, 0.4, 0.5]
    for axes in figure.axes:
        ((xs, ys),) = lines(axes, "this critic")
        assert tuple(xs) == counts
        assert ys == pytest.approx(means)
        assert [each.get_text() for each in axes.get_xticklabels()] == ["1", "2", "4"]
        (floor,) = lines(axes, "any one dialogue")
        assert floor[1] == pytest.approx([0.3, 0.3])
    for axes in others:
        ((_, ys),) = lines(axes, "the critic of SWEET-RL")
        assert ys == pytest.approx(means)
    assert sweet.get_ylim()[1] > 0.6, "the whole interval is in view"
    assert sweet.get_xscale() == "log"


def test_bars_are_as_high_as_the_shares(make):
    test = make.outcomes({"a": "110"}, turns=2) + make.outcomes({"b": "0"}, turns=3)
    rows = [make.row("rft", test), make.row("sweet", make.outcomes({"a": "1"}, turns=1))]
    figure = draw(make.results(rows))["turns"]
    assert titles(figure) == ["Rejection fine-tuning", "SWEET-RL"]
    of_all, right = figure.axes[0].containers
    places = [bar.get_x() + bar.get_width() / 2 for bar in of_all]
    assert places == pytest.approx([2, 3])
    assert [bar.get_height() for bar in of_all] == pytest.approx([0.75, 0.25])
    assert [bar.get_height() for bar in right] == pytest.approx([0.5, 0])
    assert figure.axes[0].get_ylim()[1] >= 1, "the highest bar of all panels is in view"
    assert legend(figure) == {"share of all dialogues", "successful ones among them"}


def test_zero_shot_is_drawn_with_the_seeds_of_the_curves(make):
    quarter = Scaling(method="sweet", seed=0, share=0.25, tasks=5, test=make.outcomes({"a": "1"}))
    rows = [
        make.row("zero-shot", {"a": "1", "b": "0"}),
        make.row("zero-shot", {"a": "1", "b": "1"}, seed=1),
        make.row("sweet", {"a": "1", "b": "1"}),
    ]
    figure = draw(replace(make.results(rows), scaling=(quarter,)))["scaling"]
    (axes,) = figure.axes
    (floor,) = lines(axes, "Zero-shot")
    assert floor[1] == [0.5, 0.5]
    assert lines(axes, "SWEET-RL") == [([0.25, 1.0], [1, 1])]
    assert list(axes.get_xticks()) == [0.25, 1]
    assert legend(figure) == {"SWEET-RL", "Zero-shot"}


def test_curves_over_the_amount_of_data_differ_by_color_and_dashes(drawn):
    (axes,) = drawn[3]["scaling"].axes
    curves = [each for each in axes.lines if each.get_label() in ("Multi-turn DPO", "SWEET-RL")]
    assert len({each.get_color() for each in curves}) == len(curves) == 2
    assert len({each.get_linestyle() for each in curves}) == 2
    ends = [each.get_segments() for each in axes.collections]
    assert [len(each) for each in ends] == [2, 2], "an interval at each share"
