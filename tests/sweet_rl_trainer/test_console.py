"""Progress where there is no terminal: a line now and then, by the first process only."""

from __future__ import annotations

from sweet_rl_trainer.console import progress, shown


def test_what_is_done_is_counted(capsys):
    with progress("turns", 1200, every=0) as advance:
        for _ in range(3):
            advance()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "turns 1/1,200\nturns 2/1,200\nturns 3/1,200\n"


def test_what_is_done_soon_is_done_silently(capsys):
    assert list(shown("turns", [3, 1, 2])) == [3, 1, 2]
    assert capsys.readouterr().err == ""


def test_only_the_first_process_says_something(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with progress("turns", 2, every=0) as advance:
        advance()
    assert capsys.readouterr().err == ""
