"""The report of a study, from given results."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

pytest.importorskip("matplotlib", reason="matplotlib is not installed (colbench[train])")

from sweet_rl_trainer.study.report import markdown, write


@pytest.fixture
def found(make):
    rows = [
        make.row(arm, seed, marks, told)
        for seed in range(2)
        for arm, marks, told in (
            ("zero-shot", "1000000000", 2),
            ("rft", "1111000000", 3),
            ("facts", "1111111100", 4),
        )
    ]
    exchanges = [
        make.exchange(*pair, seed, "1111111111" if pair == ("rft", "oracle") else "1100000000")
        for seed in range(2)
        for pair in (("rft", "oracle"), ("oracle", "rft"), ("rft", "zero-shot"))
    ]
    tries = [make.tried("rft", rate, 0, marks) for rate, marks in ((1e-3, "10"), (3e-3, "11"))]
    return make.results(rows, exchanges=tuple(exchanges), tries=tuple(tries))


def line(text, begin, part):
    section = text.split(f"## {part}\n", 1)[1].split("\n## ", 1)[0]
    return next(each for each in section.splitlines() if each.startswith(f"| {begin}"))


def test_each_arm_has_its_measures(found):
    cells = line(markdown(found), "Facts", "Results").split(" | ")
    assert cells[1] == "2"
    assert cells[2].startswith("80.0% (")
    assert cells[4].startswith("100.0%"), "facts told"
    assert cells[5].startswith("80.0% ("), "success given all facts told"
    assert line(markdown(found), "Zero-shot", "Results").split(" | ")[5] == "–"


def test_the_number_before_the_plus_minus_sign_is_the_mean_over_seeds(make):
    rows = [make.row("rft", 0, "1000", told=4), make.row("rft", 1, "1---", told=4)]
    cells = line(markdown(make.results(rows)), "Rejection", "Results").split(" | ")
    assert cells[5].startswith("62.5% ("), "25% and 100%"


def test_policies_that_could_not_be_trained_further_are_named(found):
    assert "left nothing to train on" not in markdown(found)
    rows = tuple(replace(row, stopped=2) if row.arm == "facts" else row for row in found.rows)
    assert "Facts, seed 0 (iteration 2), Facts, seed 1 (iteration 2)." in markdown(
        replace(found, rows=rows)
    )


def test_arms_are_compared_with_rejection_fine_tuning(found):
    cells = line(markdown(found), "Facts", "Against Rejection fine-tuning").split(" | ")
    assert cells[1].startswith("+40.0")
    assert cells[2] == "+40.0 · +40.0"
    assert cells[3] == "above |"


def test_asking_and_writing_are_reported_separately(found):
    cells = line(markdown(found), "Rejection", "Asking and writing").split(" | ")
    shares = [cell.split("%")[0] for cell in cells[1:]]
    assert shares == ["40.0", "100.0", "20.0", "20.0"]


def test_the_chosen_rate_is_bold_and_budgets_are_shown(found):
    text = markdown(found)
    assert "0.001: 50.0% · **0.003: 100.0%**" in text
    assert line(text, "Rejection", "Budgets").split(" | ")[1:5] == ["2,700", "100", "12", "60"]


def test_a_report_has_a_figure_only_if_there_are_results(found, make, tmp_path):
    page = write(found, tmp_path / "whole")
    assert page.read_text() == markdown(found)
    picture = (tmp_path / "whole" / "success.svg").read_text()
    assert "Facts" in picture
    write(make.results(), tmp_path / "empty")
    assert [each.name for each in (tmp_path / "empty").iterdir()] == ["report.md"]


@pytest.mark.parametrize(
    ("alone", "told_all", "lacks", "fit"),
    [
        ("1100000000", "1111111110", "asking (", True),
        ("1111100000", "1111111111", "asking (", False),
        ("11000", "11100", "asking and writing code (", True),
    ],
)
def test_the_report_states_what_the_base_lacks_and_whether_it_is_fit(
    alone, told_all, lacks, fit, make
):
    exchanges = (make.exchange("oracle", "zero-shot", 0, told_all),)
    text = markdown(make.results([make.row("zero-shot", 0, alone)], exchanges=exchanges))
    assert f"What it lacks is {lacks}" in text
    assert ("**Not fit for a comparison**" in text) is not fit
