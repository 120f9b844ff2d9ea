"""Alarms, each raised once at its threshold, and the summary and plot of a training."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed (colbench[train])")

from sweet_rl_trainer.train.alarms import KL_MOST, LINES, Watch, alarms
from sweet_rl_trainer.train.history import History
from sweet_rl_trainer.train.plot import FURTHER, STYLES, draw, running_mean


def seen(*lines):
    watch = Watch()
    return [watch.see(line) for line in lines]


@pytest.mark.parametrize(
    ("first", "later", "said"),
    [
        (
            {"entropy": 2.0},
            {"entropy": 1.0},
            "Entropy changed from 2 to 1 nats per token: replies are losing",
        ),
        (
            {"entropy": 2.0},
            {"entropy": 4.0},
            "Entropy changed from 2 to 4 nats per token: replies are becoming",
        ),
        (
            {"eval_entropy_turn_3": 1.0},
            {"eval_entropy_turn_3": 0.2},
            "Entropy at turn 3 changed from 1 to 0.2",
        ),
        (
            {"eval_kl": 0.0},
            {"eval_kl": KL_MOST + 0.1},
            "KL to the reference is 0.40 nats per token",
        ),
        ({"turns": 6.0}, {"turns": 2.0}, "6 turns per dialogue at first, 2 now"),
        ({"reply_tokens": 50.0}, {"reply_tokens": 90.0}, "50 tokens per reply at first, 90 now"),
        ({"unanswered": 0.1}, {"unanswered": 0.3}, "30% of the dialogues ended without an answer"),
    ],
)
def test_a_value_that_leaves_its_range_raises_one_alarm(first, later, said):
    nothing, found, again = seen(first, later, later)
    assert nothing == again == []
    (text,) = found
    assert text.startswith(said)


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"entropy": 2.0}, {"entropy": 1.1}),
        ({"eval_kl": 0.0}, {"eval_kl": -0.9}),
        ({"turns": 6.0}, {"turns": 5.0}),
        ({"unanswered": 0.3}, {"unanswered": 0.2}),
        ({"loss": 0.7}, {"loss": 0.1}),
        ({"entropy": None}, {"entropy": 1.0}),
    ],
)
def test_a_value_within_its_range_raises_no_alarm(first, later):
    assert seen(first, later)[1] == []


def test_a_high_share_of_unanswered_dialogues_raises_an_alarm_at_once():
    assert dict(alarms({"unanswered": 0.5}))
    assert seen({"unanswered": 0.5})[0]


def test_a_length_gap_between_sides_raises_an_alarm_after_several_steps():
    line = {"length_chosen": 200.0, "length_rejected": 100.0}
    found = seen(*[line] * (LINES + 1))
    assert found[: LINES - 1] == [[]] * (LINES - 1)
    assert found[LINES - 1][0].startswith(
        "Chosen replies are longer than rejected ones (200 tokens"
    )
    balanced = {"length_chosen": 100.0, "length_rejected": 200.0}
    assert seen(*[line, balanced] * LINES) == [[]] * (2 * LINES)


def test_a_history_summarizes_ranges_and_alarms_in_order():
    lines = [
        {"step": 1, "loss": 0.7, "accuracy": 0.5, "eval_entropy_turn_10": 1.0},
        {"step": 2, "loss": 0.4, "alarms": ["Look."], "eval_entropy_turn_2": 2.0},
        {"step": 3, "loss": 0.5, "note": "words"},
    ]
    history = History(lines)
    summary = history.summary()
    assert summary.steps == 3
    assert summary.alarms == ["step 2: Look."]
    assert list(summary.values) == [
        "loss",
        "accuracy",
        "eval_entropy_turn_2",
        "eval_entropy_turn_10",
    ]
    loss = summary.values["loss"]
    assert (loss.first, loss.last, loss.least, loss.most) == (0.7, 0.5, 0.4, 0.7)
    assert history.last["note"] == "words"
    assert "alarms" not in history.last


def test_a_plot_has_panels_only_for_logged_metrics_and_is_reproducible(tmp_path):
    history = History([{"step": n, "loss": 1 / n, "eval_accuracy": 0.5} for n in range(1, 50)])
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        draw(history, tmp_path / name, "A training")
    svg, png = (tmp_path / "one" / f"training.{kind}" for kind in ("svg", "png"))
    for title in ("Loss", "Accuracy of pairs"):
        assert f">{title}<" in svg.read_text()
    assert "Turns" not in svg.read_text()
    assert png.read_bytes().startswith(b"\x89PNG")
    assert svg.read_bytes() == (tmp_path / "other" / "training.svg").read_bytes()
    draw(History([]), tmp_path, "Nothing")
    assert not (tmp_path / "training.svg").exists()


def test_a_running_mean_uses_no_later_values():
    assert running_mean([1, 3, 5]) == (1, 2, 3)
    assert running_mean([0] * 20 + [20])[-1] == 1


def test_each_line_of_a_legend_has_its_own_style(tmp_path):
    assert len({*STYLES.values(), *FURTHER}) == len(STYLES) + len(FURTHER)
    turns = {f"{side}entropy_turn_{turn}" for side in ("", "eval_") for turn in (1, 4)}
    names = {"entropy", "eval_entropy", "eval_entropy_turn_7", *turns}
    draw(History([{"step": step, **dict.fromkeys(names, 1.0)} for step in (1, 2)]), tmp_path, "A")
    svg = (tmp_path / "training.svg").read_text()
    assert all(f">turn {turn}<" in svg for turn in (1, 4, 7))
