"""Figures: one style, the same bytes for the same data, and matplotlib imported only when a figure is made."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest
from PIL import Image

pytest.importorskip("matplotlib", reason="matplotlib is not installed (colbench[train])")

import matplotlib

from sweet_rl_trainer import figures

SVG = "{http://www.w3.org/2000/svg}"


@figures.style()
def drawn(values=(0.1, 0.4, 0.3)):
    figure, ((left, right),) = figures.panels(1, 2)
    left.plot([0, 10, 20], values, label="training")
    right.plot([0, 10, 20], values, label="training")
    right.axhline(0.2, label="base")
    figures.ring(right, [10], [values[1]], figures.ORANGE, label="chosen")
    figures.percent(left.yaxis)
    figures.ticks(left.xaxis, 2)
    figures.legend(figure)
    return figure


def saved(figure, folder, title="Accuracy & loss"):
    folder.mkdir()
    figures.save(figure, folder / "accuracy.held-out", title)
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_a_figure_is_saved_as_svg_and_png(tmp_path):
    files = saved(drawn(), tmp_path / "out")
    assert files.keys() == {"accuracy.held-out.svg", "accuracy.held-out.png"}
    root = ElementTree.fromstring(files["accuracy.held-out.svg"])
    assert root.find(f"{SVG}title").text == "Accuracy & loss"
    assert {"training", "base", "chosen"} <= {each.text for each in root.iter(f"{SVG}text")}
    assert b"dc:date" not in files["accuracy.held-out.svg"]
    with Image.open(tmp_path / "out" / "accuracy.held-out.png") as picture:
        assert picture.info["Title"] == "Accuracy & loss"
        assert picture.width == pytest.approx(2 * 3.4 * 144, abs=2)


def test_the_same_data_gives_the_same_bytes_regardless_of_user_settings(tmp_path):
    first = saved(drawn(), tmp_path / "first")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": None}):
        assert saved(drawn(), tmp_path / "second") == first
    other = saved(drawn((0.1, 0.4, 0.35)), tmp_path / "other")
    assert all(other[name] != first[name] for name in first)


def test_saving_a_figure_leaves_the_users_settings_unchanged(tmp_path):
    before = dict(matplotlib.rcParams)
    saved(drawn(), tmp_path / "out")
    assert dict(matplotlib.rcParams) == before


def test_a_figure_has_an_opaque_white_background(tmp_path):
    saved(drawn(), tmp_path / "out")
    with Image.open(tmp_path / "out" / "accuracy.held-out.png") as picture:
        corners = [(0, 0), (picture.width - 1, picture.height - 1)]
        assert {picture.convert("RGBA").getpixel(each) for each in corners} == {(255,) * 4}
    root = ElementTree.parse(tmp_path / "out" / "accuracy.held-out.svg").getroot()
    assert "fill: #ffffff" in next(root.iter(f"{SVG}path")).get("style")


def test_the_legend_names_each_label_once():
    (legend,) = drawn().legends
    assert [each.get_text() for each in legend.get_texts()] == ["training", "base", "chosen"]


def test_ticks_are_round_and_shares_are_labeled_in_percent():
    figure = drawn()
    figure.draw_without_rendering()
    left = figure.axes[0]
    assert {0, 20} <= {*left.get_xticks()} <= {-20, 0, 20, 40}
    labels = {each.get_text() for each in left.get_yticklabels()}
    assert {"20%", "40%"} <= labels


def test_matplotlib_is_imported_only_when_a_figure_is_made():
    code = (
        "import sys, colbench, sweet_rl_trainer.figures, sweet_rl_trainer.study.plots;"
        "print('matplotlib' in sys.modules);"
        "sweet_rl_trainer.figures.panels(1, 1);"
        "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True", "False"]
