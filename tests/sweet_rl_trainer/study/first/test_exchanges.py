"""The parts of a difference that are due to asking and to writing, against values computed by hand."""

from __future__ import annotations

import pytest

from sweet_rl_trainer.study.first.exchanges import exchanged, parts
from sweet_rl_trainer.study.first.results import Exchange
from sweet_rl_trainer.study.first.tables import contrast

pytestmark = pytest.mark.weekly

RFT, MTDPO = {"a": "11", "b": "10"}, {"a": "01", "b": "00"}
"""75 % and 25 %."""
RFT_ASKS, MTDPO_ASKS = {"a": "11", "b": "00"}, {"a": "01", "b": "01"}
"""50 % each: the other one writes."""


@pytest.fixture
def found(make):
    swapped = [
        Exchange(
            asker=asker, writer=writer, seed=seed, test=make.outcomes(tasks), folder="exchange-1"
        )
        for seed in (0, 1)
        for asker, writer, tasks in (("rft", "mtdpo", RFT_ASKS), ("mtdpo", "rft", MTDPO_ASKS))
    ]
    rows = [
        make.row(name, tasks, seed=seed)
        for seed in (0, 1)
        for name, tasks in (("rft", RFT), ("mtdpo", MTDPO))
    ]
    return make.results(rows, exchanges=tuple(swapped))


def test_a_difference_is_the_sum_of_what_is_asked_and_what_is_written(found):
    (each,) = parts(found)
    assert (each.one, each.other) == ("rft", "mtdpo")
    assert each.whole.points.mean == pytest.approx(0.75 - 0.25)
    # asking: (0.75 - 0.5) / 2 where RFT writes, (0.5 - 0.25) / 2 where multi-turn DPO does
    assert each.asking.points.mean == pytest.approx(0.25)
    assert each.writing.points.mean == pytest.approx(0.25)
    assert each.asking.seeds == pytest.approx((0.25, 0.25))
    assert each.more.points.mean == pytest.approx(0)


def test_asking_is_compared_with_the_same_writer_and_writing_with_the_same_asker(make, found):
    alike = [
        Exchange(asker=asker, writer=writer, seed=0, test=make.outcomes(tasks), folder="e")
        for asker, writer, tasks in (("rft", "mtdpo", MTDPO), ("mtdpo", "rft", RFT))
    ]
    (each,) = parts(make.results(found.rows, exchanges=tuple(alike)))
    assert each.whole.points.mean == pytest.approx(0.5)
    assert each.asking.points.mean == pytest.approx(0)
    assert each.writing.points.mean == pytest.approx(0.5)
    assert each.more.points.mean == pytest.approx(0.5)


def test_the_tables_name_who_asks_and_who_writes(found):
    grid, split, again = exchanged(found).split("\n\n")
    head, _, first, second = grid.split("\n")
    assert head == "| asks | Rejection fine-tuning writes | Multi-turn DPO writes |"
    assert first.startswith("| Rejection fine-tuning | 75.0 % (")
    assert "| 50.0 % (" in first
    assert second.startswith("| Multi-turn DPO | 50.0 % (")
    assert split.split("\n")[2].startswith("| Rejection fine-tuning less Multi-turn DPO | +50.0 (")
    assert "; +25.0 · +25.0 |" in split
    assert "`sweet-rl study --scale cpu --seeds 2 --only rft --only mtdpo`" in again
    assert "`exchange-1`" in again


def test_nothing_exchanged_is_no_table(make):
    assert exchanged(make.whole()) is None


def test_a_contrast_holds_only_tasks_and_seeds_that_all_have(make):
    one = {0: make.outcomes({"a": "1", "b": "1"}), 1: make.outcomes({"a": "1"})}
    two = {0: make.outcomes({"a": "0"}), 2: make.outcomes({"a": "1"})}
    found = contrast(((0.5, one), (-0.5, two)))
    assert found.points.mean == pytest.approx(0.5)
    assert found.seeds == pytest.approx((0.5,))
    assert contrast(((1.0, {0: one[0]}), (-1.0, {1: one[1]}))) is None
