"""Progress without a terminal: an occasional line, from the first process only."""

from __future__ import annotations

from sweet_rl_trainer.console import progress, shown


def test_progress_counts_the_completed_items(capsys):
    with progress("turns", 1200, every=0) as advance:
        for _ in range(3):
            advance()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "turns 1/1,200\nturns 2/1,200\nturns 3/1,200\n"


def test_quick_work_prints_no_progress(capsys):
    assert list(shown("turns", [3, 1, 2])) == [3, 1, 2]
    assert capsys.readouterr().err == ""


def test_a_process_other_than_the_first_prints_no_progress(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with progress("turns", 2, every=0) as advance:
        advance()
    assert capsys.readouterr().err == ""
