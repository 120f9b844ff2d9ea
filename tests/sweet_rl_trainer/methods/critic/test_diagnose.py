"""The diagnosis, its alarms and its table."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest

from colbench.stats import Interval
from sweet_rl_trainer.data.examples import PairExample, Side
from sweet_rl_trainer.methods.critic.best_of import BestOf, DialogueCurve
from sweet_rl_trainer.methods.critic.correlation import Correlation
from sweet_rl_trainer.methods.critic.diagnose import (
    Diagnosis,
    alarms,
    decode,
    diagnose,
    encode,
    pair_accuracy,
)
from sweet_rl_trainer.methods.critic.montecarlo import Agreement
from sweet_rl_trainer.methods.critic.show import table
from sweet_rl_trainer.methods.critic.states import Preference


def pair(task):
    side = Side(examples=(), trajectory="d", reward=1.0, turns=1, reply_tokens=1)
    return PairExample(chosen=side, rejected=side, task_hash=task)


def test_accuracy_is_the_mean_over_tasks_and_a_tie_is_half_right():
    pairs = [pair(task) for task in "aaaabc"]
    scores = [(1, 0), (2, 1), (0, 1), (0, 0), (0.5, 0.4), (-2, -1)]
    found = pair_accuracy(pairs, scores)
    assert found.mean == pytest.approx((2.5 / 4 + 1 + 0) / 3)
    assert found.low < found.mean < found.high
    assert pair_accuracy([], []).mean is None


def test_correlations_reveal_a_critic_that_favors_length():
    pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    from sweet_rl_trainer.methods.ranking.turns import Scored

    def side(name, turns, tokens):
        return Side(examples=(), trajectory=name, reward=0.0, turns=turns, reply_tokens=tokens)

    best = side("best", 3, 40)
    pairs = [
        PairExample(chosen=best, rejected=side(name, turns, tokens), task_hash="a" * 64)
        for name, turns, tokens in (("short", 1, 35), ("medium", 2, 20), ("long", 9, 10))
    ]
    ranked = [
        Scored(candidates=None, scores=(1.0, None, 2.0), lengths=(5, 9, 7)),
        Scored(candidates=None, scores=(-7.0, -9.0), lengths=(60, 50)),
    ]
    found = diagnose(pairs, [(3.0, 1.0), (3.0, 2.0), (3.0, 9.0)], ranked)
    assert found.accuracy.mean == pytest.approx(2 / 3)
    assert found.by_turns.pearson == pytest.approx(1)
    assert (found.by_turns.count, found.by_length.count) == (4, 4)
    assert found.by_length.spearman == pytest.approx(np.corrcoef([3, 1, 2, 4], [4, 3, 2, 1])[0, 1])
    assert found.candidates_by_length.spearman == pytest.approx(1)
    assert found.candidates_by_length.count == 4
    assert diagnose(pairs, [(1.0, 0.0)] * 3).candidates_by_length.pearson is None


def around(mean, half=0.1):
    return Interval(mean=mean, low=mean - half, high=mean + half, method="bootstrap")


def correlated(value):
    return Correlation(pearson=value, spearman=None, count=9)


SOUND = Diagnosis(
    accuracy=around(0.7),
    pairs=40,
    by_turns=correlated(0.5),
    by_length=correlated(-0.5),
    candidates_by_length=correlated(None),
)
STATES = Preference(
    mean=around(0.5), best=around(0.8), answer=1.5, question=-0.25, states=12, tasks=5
)


def test_a_sound_critic_raises_no_alarm():
    assert alarms(SOUND) == []
    assert alarms(msgspec.structs.replace(SOUND, states=STATES)) == []
    nothing = Interval(mean=None, low=None, high=None, method="none")
    assert alarms(msgspec.structs.replace(SOUND, accuracy=nothing)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"accuracy": around(0.6)},
            "The critic is not significantly better than chance: it is right on 60.0% of 40 held-out pairs "
            "(95% interval: 50.0% to 70.0%).",
        ),
        (
            {"accuracy": around(0.3)},
            "The critic prefers the worse of two dialogues: it is right on 30.0% of 40 held-out pairs "
            "(95% interval: 20.0% to 40.0%).",
        ),
        (
            {"by_turns": correlated(0.51)},
            "Scores of dialogues correlate positively with their number of turns (+0.51 over 9 dialogues).",
        ),
        (
            {"by_length": Correlation(pearson=0.1, spearman=-0.6, count=4)},
            "Scores of dialogues correlate negatively with their length (-0.60 over 4 dialogues).",
        ),
        (
            {"candidates_by_length": correlated(0.9)},
            "Scores of candidates of a turn correlate positively with their length (+0.90 over 9 candidates).",
        ),
        (
            {"states": msgspec.structs.replace(STATES, mean=around(0.55))},
            "When every decision is known, the critic prefers another question to the right answer in "
            "55.0% of 12 states: its actor may learn to keep asking and never answer.",
        ),
    ],
)
def test_each_flaw_raises_exactly_its_own_alarm(changes, said):
    assert alarms(msgspec.structs.replace(SOUND, **changes)) == [said]


WHOLE = msgspec.structs.replace(
    SOUND,
    accuracy=around(0.5),
    best_of=DialogueCurve(curve=(BestOf(count=2, reward=around(0.4)),), tasks=7, left_out=1),
    states=STATES,
    continuations=Agreement(pairwise=around(0.625), spearman=around(0.3), turns=6, candidates=24),
    missing={"candidates": "not available yet"},
)


def test_an_encoded_diagnosis_decodes_unchanged_and_contains_its_alarms():
    for each in (SOUND, WHOLE):
        content = encode(each)
        assert decode(content) == each
        assert json.loads(content)["alarms"] == alarms(each)


def test_the_table_shows_every_part():
    lines = [" ".join(row) for row in table(WHOLE).rows]
    for line in (
        "pair accuracy 50.0% 40.0 to 60.0%; 40 pairs",
        "score and turns +0.50 / – Pearson / Spearman; 9 dialogues",
        "score and length in a turn – / – Pearson / Spearman; 9 candidates",
        "reward of the best of 2 40.0% 30.0 to 50.0%; 7 tasks",
        "all known: questions preferred to answer 50.0% 40.0 to 60.0%; 12 states of 5 tasks",
        "all known: best question preferred to answer 80.0% 70.0 to 90.0%",
        "all known: mean scores 1.5; -0.25 right answer; question",
        "agrees with returns 62.5% 52.5 to 72.5%; 24 candidates, 6 turns with different returns",
        "rank correlation with returns +0.30 +0.20 to +0.40",
        "candidates – not measured: not available yet",
    ):
        assert line in lines
