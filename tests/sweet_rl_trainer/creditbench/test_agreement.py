"""Measures of agreement, compared with worked examples and with SciPy."""

from __future__ import annotations

import random

import pytest

from sweet_rl_trainer.creditbench.agreement import Scored, agreement
from sweet_rl_trainer.creditbench.states import Bench, BenchState, Candidate, StateTruth

KINDS = ("relevant", "relevant", "redundant", "unanswerable", "answer", "wrong answer")
EXACT = (0.8, 0.7, 0.5, 0.5, 0.6, 0.1)


def bench(exact, kinds=KINDS):
    state = BenchState(
        id="s",
        heard=("?",),
        said=(),
        told=(),
        turns_left=3,
        candidates=tuple(Candidate(kind=kind, text=str(n)) for n, kind in enumerate(kinds)),
    )
    truth = StateTruth(value={"exact": 0.8}, candidates={"exact": tuple(exact)})
    return Bench(task=None, states=(state,), truths=(truth,))


def measured(scores, exact=EXACT, kinds=KINDS):
    found = agreement([Scored(bench=bench(exact, kinds), scores=(tuple(scores),))], "exact")
    return {name: interval.mean for name, interval in found.measures.items()}


def test_exact_values_agree_with_themselves():
    found = measured(EXACT)
    assert found.pop("regret") == 0
    assert set(found) == {
        "spearman", "kendall", "auc", "questions", "mixed", "answers", "pairs"
    }  # fmt: skip
    assert found == pytest.approx(dict.fromkeys(found, 1.0))


def test_reversed_scores_have_the_worst_value_of_every_measure():
    found = measured([-each for each in EXACT])
    assert found["spearman"] == found["kendall"] == pytest.approx(-1)
    assert found["questions"] == found["mixed"] == found["answers"] == found["pairs"] == 0
    assert found["auc"] == 0
    assert found["regret"] == pytest.approx(0.7)


def test_equal_scores_agree_by_chance_and_have_the_regret_of_a_random_choice():
    found = measured([1.0] * 6)
    assert found["spearman"] == found["kendall"] == 0
    assert found["questions"] == found["mixed"] == found["answers"] == found["auc"] == 0.5
    assert found["regret"] == pytest.approx(0.8 - sum(EXACT) / 6)


def test_each_pair_counts_in_the_measure_of_its_kind():
    """Score questions first: relevant and useless ones are equal, and every question is above both answers."""
    found = measured([1, 1, 1, 1, 0, 0])
    assert found["questions"] == 0.5
    assert found["mixed"] == pytest.approx(6 / 8), "two useless questions are worse than the answer"
    assert found["answers"] == 0.5
    assert found["pairs"] == pytest.approx((5 * 0.5 + 6 + 0.5) / 14), "one pair is tied"


def test_rank_correlations_match_scipy():
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    chance = random.Random(3)
    for _ in range(50):
        scores = [chance.choice((0.0, 0.1, 0.2, 0.5, 0.9)) for _ in KINDS]
        exact = [chance.choice((0.0, 0.3, 0.6, 0.61)) for _ in KINDS]
        if len(set(exact)) > 1 and len(set(scores)) > 1:
            found = measured(scores, exact)
            assert found["kendall"] == pytest.approx(stats.kendalltau(scores, exact).statistic)
            assert found["spearman"] == pytest.approx(stats.spearmanr(scores, exact).statistic)


def test_a_candidate_without_a_score_is_left_out():
    found = measured([0.9, None, 0.5, 0.5, 0.1, None])
    assert found["auc"] == 1
    assert found["mixed"] == pytest.approx(1 / 3)
    assert "answers" not in found


def test_tasks_have_equal_weight_regardless_of_their_number_of_states():
    right, wrong = bench(EXACT), bench(EXACT)
    three = Bench(task=None, states=right.states * 3, truths=right.truths * 3)
    backwards = tuple(-each for each in EXACT)
    found = agreement(
        [Scored(bench=three, scores=(EXACT,) * 3), Scored(bench=wrong, scores=(backwards,))],
        "exact",
    )
    assert found.measures["pairs"].mean == 0.5
    assert (found.states, found.tasks) == (4, 2)
    assert (found.measures["pairs"].low, found.measures["pairs"].high) == (0, 1)
